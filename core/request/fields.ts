import { createNullProto } from '../../lib/object/null-proto.ts'
import { badRequest, quote } from './bad-request.ts'

/** A value as it came in a query, a form or a path: text, or the content of a file. */
export type FieldValue = string | Uint8Array | FieldValue[] | Fields

/** Named values, nested, in objects that inherit no names. What they mean says `coerce`. */
export interface Fields {
  [name: string]: FieldValue
}

/** Most fields of one query or form, and of one list in it. */
export const MAX_FIELDS = 256

/** Most names in a row: `a.b[c]` has three. */
const MAX_DEPTH = 32

/** Names that reach into the prototypes of objects where they are assigned carelessly. */
export const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** A segment of a field's name: a name, a place in a list, or the end of a list. */
type Segment = string | number
const PUSH = -1

const DOT = 0x2e
const OPEN = 0x5b
const CLOSE = 0x5d

/**
 * Puts fields one by one into a nested object.
 *
 * | name | means |
 * |---|---|
 * | `a.b`, `a[b]` | field `b` of the object `a` |
 * | `a` several times, `a[]` | the next item of the list `a`; `[]` stands last |
 * | `a[0]` | an item of the list `a`, up to 255, in any order, none left out; `a.0` is a field named `0` |
 */
export class FieldTree {
  readonly root: Fields = createNullProto()
  readonly #what: string
  readonly #id: string
  /** Lists given by index, with their names. */
  #indexed: Map<FieldValue[], string> | undefined = undefined

  /**
   * @param what what a field is called in errors: `query parameter`.
   * @param id the id of errors.
   */
  constructor(what: string, id: string) {
    this.#what = what
    this.#id = id
  }

  /**
   * Adds a field.
   *
   * @throws {GatewayError} 400 when its name is malformed, reaches into prototypes, nests deeper than 32,
   *   or contradicts what came before it: a value and an object, a list by index and by order.
   */
  add(name: string, value: string | Uint8Array): void {
    if (isPlain(name)) {
      if (FORBIDDEN.has(name)) throw this.#refuse(name, `must not be named ${name}`)
      const known = this.root[name]
      this.root[name] = known === undefined ? value : this.#repeat(known, value, name)
      return
    }
    const segments = this.#parseName(name)
    const last = segments.length - 1
    let parent: FieldValue = this.root
    for (let i = 0; i < last; i++) parent = this.#descend(parent, segments, i, name)
    const segment = segments[last]!
    if (segment === PUSH) (parent as FieldValue[]).push(value)
    else {
      const place = parent as Fields
      const known = place[segment]
      place[segment] = known === undefined ? value : this.#repeat(known, value, name)
    }
  }

  /**
   * All fields added.
   *
   * @throws {GatewayError} 400 when a list given by index lacks an item.
   */
  finish(): Fields {
    if (this.#indexed === undefined) return this.root
    for (const [list, name] of this.#indexed) {
      for (let i = 0; i < list.length; i++) {
        if (list[i] === undefined)
          throw this.#refuse(`${name}[${i}]`, 'must be given: a list by index leaves out nothing')
      }
    }
    return this.root
  }

  /** The container that segment `i` names, created where there is none. */
  #descend(parent: FieldValue, segments: readonly Segment[], i: number, name: string): FieldValue {
    const place = parent as Fields
    const segment = segments[i]!
    const inner = segments[i + 1]!
    let child = place[segment]
    if (typeof inner === 'string') {
      if (child === undefined) child = place[segment] = createNullProto<Fields>()
      if (isFields(child)) return child
    } else if (inner === PUSH) {
      if (child === undefined) child = place[segment] = []
      else if (isLeaf(child)) child = place[segment] = [child]
      if (Array.isArray(child) && !this.#isIndexed(child)) return child
    } else {
      if (child === undefined) {
        child = place[segment] = []
        this.#indexed ??= new Map()
        this.#indexed.set(child, formatPath(segments.slice(0, i + 1)))
      }
      if (Array.isArray(child) && this.#isIndexed(child)) return child
    }
    const path = formatPath(segments.slice(0, i + 1))
    throw this.#refuse(name, `contradicts ${quote(path)}, which was ${this.#tell(child)} before`)
  }

  /** The list that a field given once more becomes. */
  #repeat(known: FieldValue, value: FieldValue, name: string): FieldValue {
    if (isLeaf(known)) return [known, value]
    if (!Array.isArray(known) || this.#isIndexed(known))
      throw this.#refuse(name, `must be given one way, it was ${this.#tell(known)} before`)
    known.push(value)
    return known
  }

  #isIndexed(list: FieldValue[]): boolean {
    return this.#indexed?.has(list) === true
  }

  #tell(value: FieldValue): string {
    if (isLeaf(value)) return 'a value'
    if (!Array.isArray(value)) return 'an object'
    return this.#isIndexed(value) ? 'a list by index' : 'a list'
  }

  /** Reads a name from left to right, and no further than its first fault. */
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
          if (end + 1 < name.length) throw this.#refuse(name, 'must have [] at its end only')
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
        throw this.#refuse(name, `must not hold ${segment}`)
      if (segments.push(segment) > MAX_DEPTH)
        throw this.#refuse(name, `must not nest deeper than ${MAX_DEPTH} names`)
    }
    return segments
  }

  /** What stands between brackets: an index, or a name. */
  #toSegment(text: string, name: string): Segment {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code < 0x30 || code > 0x39 || (i === 1 && text[0] === '0')) return text
    }
    if (text.length > 3 || Number(text) >= MAX_FIELDS)
      throw this.#refuse(name, `must have indexes from 0 to ${MAX_FIELDS - 1}`)
    return Number(text)
  }

  #malformed(name: string): Error {
    return this.#refuse(name, 'must be a name such as limit, options.limit, options[limit], tags[]')
  }

  #refuse(name: string, detail: string): Error {
    return badRequest(this.#id, `${this.#what} ${quote(name)} ${detail}`)
  }
}

/** Whether a value holds no others. */
export function isLeaf(value: FieldValue): value is string | Uint8Array {
  return typeof value === 'string' || value instanceof Uint8Array
}

/** Whether a value is an object of named values. */
export function isFields(value: FieldValue): value is Fields {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Uint8Array)
}

/** A path as errors show it: `options.tags[0]`. */
export function formatPath(path: readonly (string | number)[]): string {
  let text = ''
  for (const segment of path)
    text += typeof segment === 'number' ? `[${segment}]` : text === '' ? segment : `.${segment}`
  return text
}

/** Whether a name is one segment. */
function isPlain(name: string): boolean {
  for (let i = 0; i < name.length; i++) if (isMark(name.charCodeAt(i))) return false
  return name.length > 0
}

function isMark(code: number): boolean {
  return code === DOT || code === OPEN || code === CLOSE
}
