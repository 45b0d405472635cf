import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { wordsOf } from "../../src/cli/completion-scripts.js";
import { buildProgram } from "../../src/cli/program.js";
import { mainSchema } from "../../src/config/schema.js";
import { zoneSchema } from "../../src/config/schema-zone.js";
import { root, textOf } from "../house-rules/source.js";
import { findProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";
import { anchorOf, anchorsOf, blocksOf, livezoneCalls, PAGES } from "./text.js";

const commands = wordsOf(await buildProgram({ exit() {} }));
const blocks = PAGES.flatMap(blocksOf);

describe("links", () => {
  test.each(PAGES)("of %s lead to a file and a heading that are there", (file) => {
    const text = textOf(file).replace(/^```[\s\S]*?^```$/gm, "");
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => !/^[a-z]+:/.test(link));
    const dead = links.filter((link) => {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? file : join(dirname(file), path);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(target).has(anchor);
    });
    expect(dead).toEqual([]);
  });

  test.each([
    ["## `livezone status [endpoint]`", "livezone-status-endpoint"],
    ["## What DNS cannot do", "what-dns-cannot-do"],
    ["## A, and B", "a-and-b"],
  ])("%s is linked to as #%s", (heading, anchor) => {
    expect(anchorOf(heading.replace(/^#+ /, ""))).toBe(anchor);
  });
});

describe("commands", () => {
  const calls = PAGES.flatMap((file) => livezoneCalls(file).map((call) => ({ ...call, file })));

  test("are found in the pages", () => {
    expect(calls.length).toBeGreaterThan(30);
  });

  test("are ones that livezone has, with options that they take", () => {
    const wrong = calls.flatMap(({ file, line, words: [name = "", ...rest] }) => {
      const where = `${file}:${line}: livezone ${[name, ...rest].join(" ")}`;
      // An option of the program itself, or a form.
      if (/^[-<]/.test(name)) return [];
      const command = commands.find((one) => one.name === name);
      if (command === undefined) return [where];
      const flags = command.options.flatMap((option) => option.flags);
      const unknown = rest
        .filter((word) => /^--?[a-z]/.test(word))
        .filter((word) => !flags.includes(word.split("=")[0] ?? ""));
      return unknown.map((flag) => `${where}: no ${flag}`);
    });
    expect(wrong).toEqual([]);
  });
});

describe("configurations", () => {
  const yaml = blocks.filter(({ language }) => language === "yaml");

  test.each(yaml)("$file:$line is YAML, and one of livezone has only options that there are", ({ text }) => {
    for (const document of parseAllDocuments(text)) {
      expect(document.errors).toEqual([]);
      const value: unknown = document.toJS();
      const keys = Object.keys(value ?? {});
      // A part of a file stands for itself.
      if (keys.includes("zone")) expect(zoneSchema.safeParse(value).error).toBeUndefined();
      else if (keys.includes("zones") && keys.includes("listen"))
        expect(mainSchema.safeParse(value).error).toBeUndefined();
    }
  });

  /** Checks the one block of a language with the program that reads it. */
  const check = (
    language: string,
    program: string,
    args: (file: string) => string[],
    wrap = (text: string) => text,
  ) => {
    const found = blocks.filter((block) => block.language === language);
    expect(found).toHaveLength(1);
    const folder = temporaryFolder();
    const file = join(folder, "config");
    writeFileSync(file, wrap(found[0]?.text ?? "").replaceAll("@FOLDER@", folder));
    mkdirSync(join(folder, "conf"));
    writeFileSync(join(folder, "conf/livezone.conf"), "upstream api_k8s_example_com { server 127.0.0.1:6443; }\n");
    const { status, stdout, stderr } = spawnSync(program, args(file), { encoding: "utf8" });
    expect({ status, said: status === 0 ? "" : stdout + stderr }).toEqual({ status: 0, said: "" });
  };

  test.skipIf(findProgram("haproxy") === undefined)("HAProxy takes its example", () => {
    check("haproxy", "haproxy", (file) => ["-c", "-f", file]);
  });

  test.skipIf(!existsSync("/usr/lib/nginx/modules/ngx_stream_module.so"))("nginx takes its example", () => {
    check(
      "nginx",
      "nginx",
      (file) => ["-t", "-c", file],
      (text) => {
        const main =
          "load_module /usr/lib/nginx/modules/ngx_stream_module.so;\npid @FOLDER@/pid;\nerror_log stderr;\nevents {}\n";
        return main + text.replace("/etc/nginx/livezone.conf", "@FOLDER@/conf/livezone.conf");
      },
    );
  });

  test.skipIf(findProgram("keepalived") === undefined)("keepalived reads its example", () => {
    const block = blocks.find(({ language }) => language === "keepalived");
    const file = join(temporaryFolder(), "keepalived.conf");
    writeFileSync(file, block?.text ?? "");
    const { stdout, stderr } = spawnSync("keepalived", ["-t", "-f", file], { encoding: "utf8" });
    // It minds what this machine lacks (an interface, a user for scripts), which its text cannot help.
    expect(`${stdout}${stderr}`).not.toMatch(/unknown keyword|syntax|missing|unexpected/i);
  });
});
