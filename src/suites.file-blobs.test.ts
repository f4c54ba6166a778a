// The suites that concern blobs, on SQLite with the bytes in files beside the database.
import { inFolder, runBlobSuites } from "../test/suites.ts";
import { fileBlobs } from "./storage/blobs/file.ts";

runBlobSuites("sqlite with blobs in files", inFolder(fileBlobs));
