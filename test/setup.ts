import { knowEachTest } from "./support/cleanup.js";

knowEachTest();
