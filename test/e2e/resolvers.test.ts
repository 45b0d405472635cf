import { describeFailures } from "./resolver-failures.js";

describeFailures(["is killed", "says at /readyz that it is not ready"]);
