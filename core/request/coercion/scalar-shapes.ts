import type { Shape } from './shape.ts'

export const ANY: Shape = { kind: 'any' }
export const STRING: Shape = { kind: 'string' }
export const NUMBER: Shape = { kind: 'number' }
export const BOOLEAN: Shape = { kind: 'boolean' }
export const NULL: Shape = { kind: 'null' }

/** Integers that JSON numbers represent exactly (RFC 8259 §6). */
export const SAFE_INTEGER: Shape = {
  kind: 'integer',
  min: BigInt(Number.MIN_SAFE_INTEGER),
  max: BigInt(Number.MAX_SAFE_INTEGER),
}

/** Sized integers such as `int32` and `uint64`. */
export const SIZED_INTEGERS: ReadonlyMap<string, Shape> = new Map(
  [8n, 16n, 32n, 64n].flatMap((bits): [string, Shape][] => [
    [`int${bits}`, { kind: 'integer', min: -(2n ** (bits - 1n)), max: 2n ** (bits - 1n) - 1n }],
    [`uint${bits}`, { kind: 'integer', min: 0n, max: 2n ** bits - 1n }],
  ]),
)
