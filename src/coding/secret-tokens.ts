// Tokens that their issuers mark with a prefix of their own: one table, from which the prefilter and the search are made.

export type SecretKind =
  | "anthropic-key"
  | "api-key"
  | "github-token"
  | "gitlab-token"
  | "npm-token"
  | "aws-key-id"
  | "aws-secret"
  | "azure-key"
  | "docker-auth"
  | "slack-token"
  | "google-key"
  | "stripe-key"
  | "private-key"
  | "jwt"
  | "url-password"
  | "bearer"
  | "password";

/** What the characters after the prefix must show: nothing more, letters of both cases, or randomness. */
type Evidence = "none" | "mixed" | "random";

export interface TokenShape {
  readonly prefix: string;
  readonly kind: SecretKind;
  /** The characters after the prefix, with their least and greatest number. */
  readonly rest: RegExp;
  readonly evidence: Evidence;
}

function shapes(prefixes: string, kind: SecretKind, rest: RegExp, evidence: Evidence): readonly TokenShape[] {
  return prefixes.split(" ").map((prefix) => ({ prefix, kind, rest, evidence }));
}

/** A prefix comes before the shorter prefixes that it begins with. */
export const TOKENS: readonly TokenShape[] = [
  ...shapes("sk-ant-", "anthropic-key", /[A-Za-z0-9_-]{16,500}/y, "none"),
  ...shapes("sk-", "api-key", /[A-Za-z0-9_-]{20,500}/y, "random"),
  ...shapes("sk_live_ sk_test_ rk_live_ rk_test_", "stripe-key", /[A-Za-z0-9]{16,500}/y, "none"),
  ...shapes("github_pat_", "github-token", /[A-Za-z0-9_]{22,500}/y, "mixed"),
  // Tokens of installations are a number and a JWT.
  ...shapes("ghs_", "github-token", /[0-9]{1,20}_eyJ[A-Za-z0-9_.-]{30,4000}|[A-Za-z0-9]{30,500}/y, "mixed"),
  ...shapes("ghp_ gho_ ghu_ ghr_", "github-token", /[A-Za-z0-9]{30,500}/y, "mixed"),
  ...shapes("glpat- gldt- glrt- glptt- glcbt- glft- glsoat-", "gitlab-token", /[A-Za-z0-9_.-]{20,500}/y, "mixed"),
  ...shapes("npm_", "npm-token", /[A-Za-z0-9]{36,500}/y, "mixed"),
  ...shapes("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", "slack-token", /[A-Za-z0-9-]{10,500}/y, "random"),
  ...shapes("AIza", "google-key", /[A-Za-z0-9_-]{35,500}/y, "random"),
  ...shapes("ya29.", "google-key", /[A-Za-z0-9_-]{30,2000}/y, "random"),
  ...shapes("hf_", "api-key", /[A-Za-z0-9]{30,500}/y, "mixed"),
  ...shapes("pypi-", "api-key", /[A-Za-z0-9_-]{50,500}/y, "random"),
  ...shapes("SG.", "api-key", /[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{30,128}/y, "random"),
  ...shapes("dop_v1_", "api-key", /[0-9a-f]{64}/y, "none"),
  ...shapes("gsk_", "api-key", /[A-Za-z0-9]{40,200}/y, "random"),
  ...shapes("lin_api_", "api-key", /[A-Za-z0-9_]{32,128}/y, "random"),
  ...shapes("ntn_", "api-key", /[0-9]{11}[A-Za-z0-9]{35}/y, "none"),
  ...shapes("shpat_ shpss_ shpca_ shppa_", "api-key", /[A-Za-z0-9]{32,64}/y, "random"),
  ...shapes("glc_", "api-key", /[A-Za-z0-9+/]{32,400}={0,2}/y, "random"),
  ...shapes("glsa_", "api-key", /[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}/y, "none"),
  ...shapes("ops_ey", "api-key", /[A-Za-z0-9+/=]{100,2000}/y, "none"),
  ...shapes("hvs. hvb. hvr.", "api-key", /[A-Za-z0-9_-]{24,400}/y, "random"),
  ...shapes("vcp_ vci_ vca_ vcr_ vck_", "api-key", /[A-Za-z0-9]{20,60}/y, "mixed"),
  ...shapes("dapi", "api-key", /[A-Fa-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])/y, "none"),
  ...shapes("dckr_pat_", "docker-auth", /[A-Za-z0-9_-]{27,100}/y, "mixed"),
  ...shapes("figd_", "api-key", /[A-Za-z0-9_-]{40,200}/y, "random"),
  ...shapes("cfk_ cfut_ cfat_", "api-key", /[A-Za-z0-9]{40}[0-9a-f]{8}/y, "none"),
  ...shapes("tskey-", "api-key", /[a-z]{2,20}-[0-9A-Za-z_]{8,40}-[0-9A-Za-z_]{16,60}/y, "mixed"),
];
