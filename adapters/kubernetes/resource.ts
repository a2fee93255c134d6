/** A collection of the API. */
export interface Resource {
  /** Plural name as in roles: `endpointslices`. */
  readonly name: string
  /** API group, empty for the core one. */
  readonly group: string
}

/** Path of a namespaced collection, or of one of its objects. */
export function toPath({ name, group }: Resource, namespace: string, object?: string): string {
  const root = group === '' ? '/api/v1' : `/apis/${group}/v1`
  const collection = `${root}/namespaces/${namespace}/${name}`
  return object === undefined ? collection : `${collection}/${object}`
}
