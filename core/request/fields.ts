import { createNullProto } from '../../lib/object/null-proto.ts'
import { badRequest, quote } from './bad-request.ts'

/** A value in a query, a form or a path: text, or the content of a file. */
export type FieldValue = string | Uint8Array | FieldValue[] | Fields

/** Nested values by name, in objects without a prototype. `coerce` interprets them. */
export interface Fields {
  [name: string]: FieldValue
}

/** Maximum number of fields in a query or form, and of items in its lists. */
export const MAX_FIELDS = 256

/** Maximum nesting of names; `a.b[c]` has a depth of three. */
const MAX_DEPTH = 32

/** Names that could pollute prototypes. */
export const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** A segment of a field name: a name, a list index, or the end of a list. */
type Segment = string | number
const PUSH = -1

const DOT = 0x2e
const OPEN = 0x5b
const CLOSE = 0x5d

/**
 * Builds a nested object from fields.
 *
 * | name | meaning |
 * |---|---|
 * | `a.b`, `a[b]` | field `b` of the object `a` |
 * | repeated `a`, `a[]` | the next item of the list `a`; `[]` must be last |
 * | `a[0]` | an item of the list `a`, up to index 255, in any order, without gaps; `a.0` is a field named `0` |
 */
export class FieldTree {
  readonly root: Fields = createNullProto()
  readonly #kind: string
  readonly #id: string
  /** Lists with explicit indexes, and their names. */
  #indexed: Map<FieldValue[], string> | undefined = undefined

  /**
   * @param kind kind of field, for errors: `query parameter`.
   * @param id error id.
   */
  constructor(what: string, id: string) {
    this.#kind = what
    this.#id = id
  }

  /**
   * Adds a field.
   *
   * @throws {GatewayError} 400 if its name is malformed, forbidden or nested deeper than 32, or it conflicts with an
   *   earlier field (a value and an object, or a list by index and by order).
   */
  add(name: string, value: string | Uint8Array): void {
    if (isPlain(name)) {
      if (FORBIDDEN.has(name)) throw this.#reject(name, `must not be named ${name}`)
      const before = this.root[name]
      this.root[name] = before === undefined ? value : this.#repeat(before, value, name)
      return
    }
    const segments = this.#parseName(name)
    const last = segments.length - 1
    let parent: FieldValue = this.root
    for (let i = 0; i < last; i++) parent = this.#descend(parent, segments, i, name)
    const segment = segments[last]!
    if (segment === PUSH) (parent as FieldValue[]).push(value)
    else {
      const container = parent as Fields
      const before = container[segment]
      container[segment] = before === undefined ? value : this.#repeat(before, value, name)
    }
  }

  /**
   * Returns all added fields.
   *
   * @throws {GatewayError} 400 if a list by index lacks an item.
   */
  finish(): Fields {
    if (this.#indexed === undefined) return this.root
    for (const [list, name] of this.#indexed) {
      for (let i = 0; i < list.length; i++) {
        if (list[i] === undefined)
          throw this.#reject(`${name}[${i}]`, 'is missing: a list by index must not have gaps')
      }
    }
    return this.root
  }

  /** Returns the container at segment `i`, creating it if necessary. */
  #descend(parent: FieldValue, segments: readonly Segment[], i: number, name: string): FieldValue {
    const container = parent as Fields
    const segment = segments[i]!
    const inner = segments[i + 1]!
    let child = container[segment]
    if (typeof inner === 'string') {
      if (child === undefined) child = container[segment] = createNullProto<Fields>()
      if (isFields(child)) return child
    } else if (inner === PUSH) {
      if (child === undefined) child = container[segment] = []
      else if (isLeaf(child)) child = container[segment] = [child]
      if (Array.isArray(child) && !this.#isIndexed(child)) return child
    } else {
      if (child === undefined) {
        child = container[segment] = []
        this.#indexed ??= new Map()
        this.#indexed.set(child, formatFieldPath(segments.slice(0, i + 1)))
      }
      if (Array.isArray(child) && this.#isIndexed(child)) return child
    }
    const path = formatFieldPath(segments.slice(0, i + 1))
    throw this.#reject(
      name,
      `conflicts with ${quote(path)}, which was ${this.#describe(child)} before`,
    )
  }

  /** Adds a repeated field to a list, creating it if necessary. */
  #repeat(before: FieldValue, value: FieldValue, name: string): FieldValue {
    if (isLeaf(before)) return [before, value]
    if (!Array.isArray(before) || this.#isIndexed(before))
      throw this.#reject(name, `must not be repeated, it was ${this.#describe(before)} before`)
    before.push(value)
    return before
  }

  #isIndexed(list: FieldValue[]): boolean {
    return this.#indexed?.has(list) === true
  }

  #describe(value: FieldValue): string {
    if (isLeaf(value)) return 'a value'
    if (!Array.isArray(value)) return 'an object'
    return this.#isIndexed(value) ? 'a list by index' : 'a list'
  }

  /** Parses a name up to its first error. */
  #parseName(name: string): Segment[] {
    if (name === '') throw this.#malformed(name)
    const segments: Segment[] = []
    let at = 0
    while (at < name.length) {
      let segment: Segment
      const open = name.charCodeAt(at) === OPEN
      if (open && at > 0) {
        const end = name.indexOf(']', at)
        const text = end < 0 ? '[' : name.slice(at + 1, end)
        if (text.includes('[')) throw this.#malformed(name)
        if (text === '') {
          if (end + 1 < name.length) throw this.#reject(name, 'may contain [] only at its end')
          segment = PUSH
        } else segment = this.#toSegment(text, name)
        at = end + 1
      } else {
        if (at > 0 && name.charCodeAt(at) === DOT) at++
        else if (at > 0) throw this.#malformed(name)
        const start = at
        while (at < name.length && !isMark(name.charCodeAt(at))) at++
        if (at === start || name.charCodeAt(at) === CLOSE) throw this.#malformed(name)
        segment = name.slice(start, at)
      }
      if (typeof segment === 'string' && FORBIDDEN.has(segment))
        throw this.#reject(name, `must not contain ${segment}`)
      if (segments.push(segment) > MAX_DEPTH)
        throw this.#reject(name, `must not nest deeper than ${MAX_DEPTH} names`)
    }
    return segments
  }

  /** Converts the text in brackets to an index or a name. */
  #toSegment(text: string, name: string): Segment {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code < 0x30 || code > 0x39 || (i === 1 && text[0] === '0')) return text
    }
    if (text.length > 3 || Number(text) >= MAX_FIELDS)
      throw this.#reject(name, `must have indexes from 0 to ${MAX_FIELDS - 1}`)
    return Number(text)
  }

  #malformed(name: string): Error {
    return this.#reject(name, 'must be a name such as limit, options.limit, options[limit], tags[]')
  }

  #reject(name: string, detail: string): Error {
    return badRequest(this.#id, `${this.#kind} ${quote(name)} ${detail}`)
  }
}

export function isLeaf(value: FieldValue): value is string | Uint8Array {
  return typeof value === 'string' || value instanceof Uint8Array
}

export function isFields(value: FieldValue): value is Fields {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Uint8Array)
}

/** Formats a path for errors: `options.tags[0]`. */
export function formatFieldPath(path: readonly (string | number)[]): string {
  let text = ''
  for (const segment of path)
    text += typeof segment === 'number' ? `[${segment}]` : text === '' ? segment : `.${segment}`
  return text
}

/** Whether a name is a single segment. */
function isPlain(name: string): boolean {
  for (let i = 0; i < name.length; i++) if (isMark(name.charCodeAt(i))) return false
  return name.length > 0
}

function isMark(code: number): boolean {
  return code === DOT || code === OPEN || code === CLOSE
}
