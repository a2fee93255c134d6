import type { Endpoint } from '../../contracts/registry.ts'
import type { JsonValue } from '../json/json.ts'
import { parseSchema } from './schema-shape.ts'
import { toShape } from './value-shape.ts'

/** What a request, or a part of it, looks like: as much of its description as text must be read by. */
export type Shape =
  | { readonly kind: 'any' | 'string' | 'number' | 'boolean' | 'null' }
  | { readonly kind: 'integer'; readonly min: bigint; readonly max: bigint }
  | { readonly kind: 'enum'; readonly values: readonly JsonValue[] }
  /** The first items have shapes of their own, the others `items`. */
  | { readonly kind: 'list'; readonly items: Shape; readonly first: readonly Shape[] }
  | { readonly kind: 'object'; readonly fields: ReadonlyMap<string, Shape>; readonly rest: Shape }
  /** One of several; the first that fits. */
  | { readonly kind: 'union'; readonly options: readonly Shape[] }

const known = new WeakMap<Endpoint, Shape>()

/**
 * Shape of an endpoint's requests: of its JSON Schema (metadata `requestSchema`) where it has one that can be
 * read, else of its Value tree. Worked out once for each endpoint object.
 */
export function shapeOf(endpoint: Endpoint): Shape {
  let shape = known.get(endpoint)
  if (shape === undefined) {
    const schema = endpoint.metadata['requestSchema']
    shape = (schema === undefined ? undefined : parseSchema(schema)) ?? toShape(endpoint.request)
    known.set(endpoint, shape)
  }
  return shape
}
