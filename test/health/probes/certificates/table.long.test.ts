import { describeTable } from "./table.js";

describeTable(["openssl", "kubectl"]);
