import type { Endpoint } from '../../contracts/registry.ts'
import type { JsonValue } from '../json/json.ts'
import { parseSchema } from './schema-shape.ts'
import { toShape } from './value-shape.ts'

/** Type of a request or a part of it, with the details required to interpret text. */
export type Shape =
  | { readonly kind: 'any' | 'string' | 'number' | 'boolean' | 'null' }
  | { readonly kind: 'integer'; readonly min: bigint; readonly max: bigint }
  | { readonly kind: 'enum'; readonly values: readonly JsonValue[] }
  /** `first` contains the shapes of the first items, `items` the shape of the others. */
  | { readonly kind: 'list'; readonly items: Shape; readonly first: readonly Shape[] }
  | { readonly kind: 'object'; readonly fields: ReadonlyMap<string, Shape>; readonly rest: Shape }
  /** Alternatives; the first match is used. */
  | { readonly kind: 'union'; readonly options: readonly Shape[] }

const shapes = new WeakMap<Endpoint, Shape>()

/**
 * Returns the shape of an endpoint's requests, from its JSON Schema (`requestSchema` metadata) if valid, or else from
 * its Value tree. Cached per endpoint object.
 */
export function shapeOf(endpoint: Endpoint): Shape {
  let shape = shapes.get(endpoint)
  if (shape === undefined) {
    const schema = endpoint.metadata['requestSchema']
    shape = (schema === undefined ? undefined : parseSchema(schema)) ?? toShape(endpoint.request)
    shapes.set(endpoint, shape)
  }
  return shape
}
