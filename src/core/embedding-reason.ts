// Why an embedder failed, in a form that may be kept and shown: a status, a known code, the name of a standard error, or a sentence of the
// store's own about what the embedder returned. Never an error's message, and no code or name that is not in a list here: servers and
// embedders repeat the text or a key in any of them (docs/decisions/0033).
import { HoldfastError } from "../contracts/errors.ts";
import { once } from "./memoize.ts";

/** Of Holdfast's own embedders and checks. */
const OWN = "Timeout InvalidAnswer Redirected MissingDependency InvalidArgument LimitExceeded";

/** Of Node's sockets, files and fetch. */
const CONNECTION = `
  EACCES EADDRINUSE EADDRNOTAVAIL EAI_AGAIN EAI_FAIL EAI_NODATA EAI_NONAME ECONNABORTED ECONNREFUSED ECONNRESET EHOSTDOWN EHOSTUNREACH
  EIO EISDIR EMFILE ENETDOWN ENETUNREACH ENFILE ENOENT ENOMEM ENOSPC ENOTCONN ENOTFOUND EPERM EPIPE EPROTO EROFS ESOCKETTIMEDOUT
  ETIMEDOUT ABORT_ERR ERR_INVALID_ARG_TYPE ERR_INVALID_ARG_VALUE ERR_INVALID_URL ERR_MODULE_NOT_FOUND MODULE_NOT_FOUND
  ERR_SOCKET_CONNECTION_TIMEOUT ERR_STREAM_PREMATURE_CLOSE ERR_SSL_WRONG_VERSION_NUMBER ERR_TLS_CERT_ALTNAME_INVALID CERT_HAS_EXPIRED
  DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE
  UND_ERR_ABORTED UND_ERR_BODY_TIMEOUT UND_ERR_CLOSED UND_ERR_CONNECT_TIMEOUT UND_ERR_DESTROYED UND_ERR_HEADERS_OVERFLOW
  UND_ERR_HEADERS_TIMEOUT UND_ERR_INVALID_ARG UND_ERR_RES_EXCEEDED_MAX_SIZE UND_ERR_SOCKET
`;

/** Of the APIs of models. */
const API = `
  api_error authentication_error bad_request billing_error billing_hard_limit_reached content_policy_violation context_length_exceeded
  insufficient_quota internal_error internal_server_error invalid_api_key invalid_prompt invalid_request invalid_request_error
  model_not_found not_found not_found_error overloaded overloaded_error permission_denied permission_error rate_limit_error
  rate_limit_exceeded request_too_large server_error service_unavailable timeout_error too_many_requests unauthorized
  unsupported_parameter AI_APICallError AI_InvalidArgumentError AI_InvalidPromptError AI_InvalidResponseDataError AI_JSONParseError
  AI_LoadAPIKeyError AI_NoSuchModelError AI_RetryError AI_TooManyEmbeddingValuesForCallError AI_TypeValidationError
  AI_UnsupportedFunctionalityError
`;

/** Of JavaScript, the web's interfaces, and Holdfast. */
const NAMES = `
  Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SystemError AbortError DataCloneError
  InvalidStateError NetworkError NotAllowedError NotFoundError NotSupportedError OperationError QuotaExceededError TimeoutError
  HoldfastError ModelError
`;

const knownCodes = once(() => new Set<unknown>(`${OWN} ${CONNECTION} ${API}`.split(/\s+/).filter(Boolean)));
const knownNames = once(() => new Set<unknown>(NAMES.split(/\s+/).filter(Boolean)));

export function embeddingReason(error: unknown): string {
  if (!(error instanceof HoldfastError)) return "Error";
  const { problem, status, code, name } = error.details;
  if (error.code !== "EmbeddingFailed") return error.code;
  if (typeof problem === "string") return problem;
  const known = [code, name].find((one) => knownCodes().has(one));
  if (isStatus(status)) return known === undefined ? `HTTP ${status}` : `HTTP ${status} ${known}`;
  if (known !== undefined) return String(known);
  // Errors of the shipped embedders have a name as their code if they have no better one.
  const threw = [code, name].find((one) => knownNames().has(one));
  return threw === undefined ? "it threw an error" : `it threw ${threw}`;
}

/** Any other number may be a part of the text. */
function isStatus(status: unknown): status is number {
  return typeof status === "number" && status >= 100 && status <= 599;
}
