#!/usr/bin/env node
import { holdSignals, keepDebuggerShut } from "./cli/signals.js";

// First of all: what is imported below takes a moment, in which a signal would do what it does by default.
keepDebuggerShut();
if (process.argv[2] === "serve") holdSignals();
const { runProgram } = await import("./cli/program.js");
process.exitCode = await runProgram(process.argv);
