import { describeTable } from "./table.js";

// table.long.test.ts asks kubectl too.
describeTable(["openssl"]);
