import { describeFailures, FAILURE_NAMES } from "./resolver-failures.js";

describeFailures(FAILURE_NAMES);
