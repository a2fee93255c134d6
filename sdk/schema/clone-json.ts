/** Result of {@link cloneJson} for a value that requires real JSON serialization. */
export const NOT_CLONEABLE: unique symbol = Symbol('not plain')

/** Maximum nesting depth of requests. */
const MAX_DEPTH = 64

/**
 * Clones a value like a JSON round trip, for calls within a process. An undefined top-level value becomes an empty
 * message.
 *
 * 5 to 15 times faster than serializing, whereas `structuredClone` is not faster (micro-benchmark `in-process-call`).
 * Supports plain objects, arrays, strings, numbers, booleans and null. The result is {@link NOT_CLONEABLE} for anything
 * else: bigints, integers beyond 2^53, `toJSON`, class instances, the name `__proto__`, a top-level function or NaN,
 * nesting deeper than 64, and cycles.
 */
export function cloneJson(value: unknown): unknown {
  if (value === undefined) return {}
  // The codec validates the message.
  const copied = copy(value, 0)
  return copied === undefined || (copied === null && value !== null) ? NOT_CLONEABLE : copied
}

function copy(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      // The integer may have been rounded; the schema checks its digits.
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) return NOT_CLONEABLE
      // JSON has neither infinity nor negative zero, so they become null and 0.
      return Number.isFinite(value) ? value + 0 : null
    case 'object':
      if (value === null) return null
      if (depth === MAX_DEPTH || 'toJSON' in value) return NOT_CLONEABLE
      return Array.isArray(value) ? copyList(value, depth + 1) : copyObject(value, depth + 1)
    case 'bigint':
      return NOT_CLONEABLE
    default:
      return undefined
  }
}

function copyList(list: readonly unknown[], depth: number): unknown {
  // Presized, because the first `push` would allocate 17 elements.
  const copies = new Array<unknown>(list.length)
  for (let i = 0; i < list.length; i++) {
    const item = copy(list[i], depth)
    if (item === NOT_CLONEABLE) return NOT_CLONEABLE
    copies[i] = item === undefined ? null : item
  }
  return copies
}

function copyObject(object: object, depth: number): unknown {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) return NOT_CLONEABLE
  const copies: Record<string, unknown> = {}
  // `for in` allocates no array of names.
  for (const name in object) {
    if (!Object.hasOwn(object, name)) continue
    if (name === '__proto__') return NOT_CLONEABLE
    const member = copy((object as Record<string, unknown>)[name], depth)
    if (member === NOT_CLONEABLE) return NOT_CLONEABLE
    if (member !== undefined) copies[name] = member
  }
  return copies
}
