/**
 * Scans JSON text without parsing values, so that they are forwarded unchanged; parsing would round integers above
 * 2^53. All functions require text that `JSON.parse` accepts.
 */

/**
 * Visits the members of the object at `open`.
 *
 * @param visit receives the name and the start of its value, and returns the end of the value.
 * @returns the end of the object.
 */
export function visitMembers(
  text: string,
  open: number,
  visit: (name: string, start: number) => number,
): number {
  let at = skipBlanks(text, open + 1)
  while (text[at] !== '}') {
    const nameEnd = skipString(text, at)
    const written = text.slice(at + 1, nameEnd - 1)
    const name: string = written.includes('\\') ? JSON.parse(`"${written}"`) : written
    // After the colon.
    const start = skipBlanks(text, skipBlanks(text, nameEnd) + 1)
    at = skipBlanks(text, visit(name, start))
    if (text[at] === ',') at = skipBlanks(text, at + 1)
  }
  return at + 1
}

/** Returns the texts of an object's members, the last for each name; undefined if the text is not an object. */
export function splitObject(text: string): Map<string, string> | undefined {
  const open = skipBlanks(text, 0)
  if (text[open] !== '{') return undefined
  const members = new Map<string, string>()
  visitMembers(text, open, (name, start) => {
    const end = skipValue(text, start)
    members.set(name, text.slice(start, end))
    return end
  })
  return members
}

/** Returns the texts of a list's items; undefined if the text is not a list. */
export function splitJsonList(text: string): string[] | undefined {
  let at = skipBlanks(text, 0)
  if (text[at] !== '[') return undefined
  const items: string[] = []
  at = skipBlanks(text, at + 1)
  while (text[at] !== ']') {
    const end = skipValue(text, at)
    items.push(text.slice(at, end))
    at = skipBlanks(text, end)
    if (text[at] === ',') at = skipBlanks(text, at + 1)
  }
  return items
}

/** Returns the end of the value at `at`. */
export function skipValue(text: string, at: number): number {
  let depth = 0
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22) {
      i = skipString(text, i) - 1
      if (depth === 0) return i + 1
    } else if (code === 0x5b || code === 0x7b) depth++
    else if (code === 0x5d || code === 0x7d) {
      // The end of the container of a number or literal, or the end of the list or object itself.
      if (depth === 0) return i
      if (--depth === 0) return i + 1
    } else if (depth === 0 && (code === 0x2c || isBlank(code))) return i
  }
  return text.length
}

/** Skips whitespace (RFC 8259 §2). */
export function skipBlanks(text: string, at: number): number {
  let i = at
  while (i < text.length && isBlank(text.charCodeAt(i))) i++
  return i
}

/** Returns the end of the string at `at`. */
export function skipString(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22) return i + 1
    if (code === 0x5c) i++
  }
  return text.length
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
