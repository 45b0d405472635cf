import { isIPv6 } from "node:net";
import { addressOctets, addressText } from "./address.js";
import { formatName, type Name, NameError, nameOctets, parseName, readEscape, readName } from "./name.js";

/** One word of master-file text (RFC 1035 §5.1). */
export interface Token {
  /** As written, escapes kept, without the quotes around it. */
  readonly text: string;
  /** Whether it stood in quotes. */
  readonly quoted: boolean;
  /** Line of its first character (the opening quote, if quoted), from 1. */
  readonly line: number;
  /** Column of that character, from 1. */
  readonly column: number;
}

/** Record text that cannot be; the message says what was got and why. */
export class RdataError extends Error {
  /**
   * @param remedy what to write instead, one sentence
   * @param code stable identifier, `RECORD_…`
   * @param token the word at fault; absent when words are missing at the end
   */
  constructor(
    message: string,
    readonly remedy: string,
    readonly code: string,
    readonly token?: Token,
  ) {
    super(message);
  }
}

/**
 * A kind of field that record data is made of: how it is read from text, found in octets and written as text.
 *
 * `what` names the field for messages, e.g. `MX preference`.
 */
export interface FieldKind {
  /** The field's octets. @throws RdataError */
  parse(token: Token, what: string, origin: Name): Uint8Array;
  /** Offset behind the field that starts at `offset`, or what is wrong with it. */
  end(octets: Uint8Array, offset: number): number | string;
  /** Text of the field, given its own octets, already found sound by `end`. */
  format(octets: Uint8Array): string;
}

/** An unsigned number in network byte order, written in decimal. */
function unsigned(size: 1 | 2 | 4): FieldKind {
  const max = 2 ** (8 * size) - 1;
  return {
    parse(token, what) {
      const value = Number(token.text);
      if (token.quoted || !/^\d{1,10}$/.test(token.text) || value > max) {
        throw new RdataError(
          `${what} is ${shown(token)}, not a whole number from 0 to ${max}.`,
          `Write a number from 0 to ${max} in decimal digits.`,
          "RECORD_NUMBER",
          token,
        );
      }
      const octets = new Uint8Array(size);
      for (let i = 0; i < size; i += 1) octets[i] = Math.floor(value / 2 ** (8 * (size - 1 - i)));
      return octets;
    },
    end: (octets, offset) => fixedEnd(octets, offset, size),
    format: (octets) => String(octets.reduce((value, octet) => value * 256 + octet, 0)),
  };
}

/** 8 bits. */
export const U8 = unsigned(1);
/** 16 bits. */
export const U16 = unsigned(2);
/** 32 bits. */
export const U32 = unsigned(4);

/** RFC 1035 §3.4.1. Four decimal numbers; a leading zero is refused, for some programs read it as octal. */
export const IPV4: FieldKind = {
  parse(token, what) {
    const parts = token.text.split(".");
    if (
      token.quoted ||
      parts.length !== 4 ||
      !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
    ) {
      throw new RdataError(
        `${what} is ${shown(token)}, not an IPv4 address.`,
        isIPv6(token.text)
          ? "Write the type AAAA for an IPv6 address."
          : "Write four numbers from 0 to 255 without leading zeros, such as 192.0.2.20.",
        "RECORD_ADDRESS",
        token,
      );
    }
    return addressOctets(token.text);
  },
  end: (octets, offset) => fixedEnd(octets, offset, 4),
  format: addressText,
};

/** RFC 3596 §2.2; text as RFC 4291 §2.2 has it, written as RFC 5952 wants. Zone ids mean nothing to other hosts. */
export const IPV6: FieldKind = {
  parse(token, what) {
    if (token.quoted || token.text.includes("%") || !isIPv6(token.text)) {
      throw new RdataError(
        token.text.includes("%")
          ? `${what} is ${shown(token)}: a zone id is known to one host only.`
          : `${what} is ${shown(token)}, not an IPv6 address.`,
        /^[\d.]+$/.test(token.text)
          ? "Write the type A for an IPv4 address."
          : "Write an IPv6 address without a zone id or brackets, such as 2001:db8::20.",
        "RECORD_ADDRESS",
        token,
      );
    }
    return addressOctets(token.text);
  },
  end: (octets, offset) => fixedEnd(octets, offset, 16),
  format: addressText,
};

/** RFC 1035 §3.1, always uncompressed. */
export const NAME: FieldKind = {
  parse(token, what, origin) {
    const remedy = "Write a name relative to the zone, or a whole name with a dot at its end.";
    if (token.quoted) throw new RdataError(`${what} is ${shown(token)}, in quotes.`, remedy, "RECORD_NAME", token);
    try {
      return nameOctets(parseName(token.text, origin));
    } catch (error) {
      if (!(error instanceof NameError)) throw error;
      throw new RdataError(`${what} is ${shown(token)}: ${error.message}.`, remedy, "RECORD_NAME", token);
    }
  },
  end(octets, offset) {
    try {
      const { name, end } = readName(octets, offset);
      // A pointer takes two octets, the name it stands for one (the root) or at least three.
      return name.length === end - offset ? end : "a name is compressed";
    } catch (error) {
      if (!(error instanceof NameError)) throw error;
      return error.message;
    }
  },
  format: (octets) => formatName(readName(octets, 0).name),
};

/** `<character-string>`, at most 255 octets behind a length octet (RFC 1035 §3.3). */
export const STRING: FieldKind = {
  parse(token, what) {
    const octets = textOctets(token, what);
    if (octets.length > 255) {
      throw new RdataError(
        `${what} takes ${octets.length} octets, more than 255.`,
        'Write it as several strings, each in quotes: "first part" "second part".',
        "RECORD_STRING",
        token,
      );
    }
    return Uint8Array.of(octets.length, ...octets);
  },
  end(octets, offset) {
    const length = octets[offset];
    return length === undefined ? "a string is missing" : fixedEnd(octets, offset, 1 + length);
  },
  format: (octets) => quoteOctets(octets.subarray(1)),
};

/** Property tag of CAA: ASCII letters and digits, at least one, behind a length octet (RFC 8659 §4.1). */
export const CAA_TAG: FieldKind = {
  parse(token, what) {
    if (token.quoted || !/^[A-Za-z0-9]{1,255}$/.test(token.text)) {
      throw new RdataError(
        `${what} is ${shown(token)}, not made of ASCII letters and digits.`,
        "Write issue, issuewild or iodef.",
        "RECORD_CAA_TAG",
        token,
      );
    }
    return Uint8Array.of(token.text.length, ...Buffer.from(token.text, "latin1"));
  },
  end(octets, offset) {
    const end = STRING.end(octets, offset);
    if (typeof end === "string") return "the tag is cut off";
    const tag = latin1(octets.subarray(offset + 1, end));
    return /^[A-Za-z0-9]+$/.test(tag) ? end : "the tag is not made of ASCII letters and digits";
  },
  format: (octets) => latin1(octets.subarray(1)),
};

/** Octets without a length, to the end of the record data: the value of CAA (RFC 8659 §4.1). */
export const REST: FieldKind = {
  parse: textOctets,
  end: (octets) => octets.length,
  format: quoteOctets,
};

function fixedEnd(octets: Uint8Array, offset: number, size: number): number | string {
  const end = offset + size;
  return end <= octets.length ? end : `it ends ${end - octets.length} octets too early`;
}

/** What a text stands for: escapes resolved, characters beyond ASCII as UTF-8. */
function textOctets(token: Token, what: string): Uint8Array {
  const chunks: Uint8Array[] = [];
  const { text } = token;
  for (let at = 0; at < text.length; ) {
    const decimal = text.charAt(at) === "\\" && /\d/.test(text.charAt(at + 1));
    if (decimal) {
      try {
        const { octet, end } = readEscape(text, at);
        chunks.push(Uint8Array.of(octet.charCodeAt(0)));
        at = end;
      } catch (error) {
        if (!(error instanceof NameError)) throw error;
        throw new RdataError(
          `${what}: ${error.message}.`,
          "Write \\DDD with DDD from 000 to 255.",
          "RECORD_ESCAPE",
          token,
        );
      }
    } else {
      const from = text.charAt(at) === "\\" && at + 1 < text.length ? at + 1 : at;
      const character = String.fromCodePoint(text.codePointAt(from) ?? 0);
      chunks.push(Buffer.from(character, "utf8"));
      at = from + character.length;
    }
  }
  return Uint8Array.from(Buffer.concat(chunks));
}

function quoteOctets(octets: Uint8Array): string {
  let text = "";
  for (const octet of octets) {
    const character = String.fromCharCode(octet);
    if (octet < 0x20 || octet > 0x7e) text += `\\${String(octet).padStart(3, "0")}`;
    else text += character === '"' || character === "\\" ? `\\${character}` : character;
  }
  return `"${text}"`;
}

/** One character per octet. */
export function latin1(octets: Uint8Array): string {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.length).toString("latin1");
}

/** A token as messages show it: quoted, and cut where it is long. */
export function shown(token: Token): string {
  return `"${token.text.length > 60 ? `${token.text.slice(0, 60)}…` : token.text}"`;
}
