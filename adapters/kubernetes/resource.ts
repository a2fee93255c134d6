/** A collection of the API. */
export interface Resource {
  /** As roles name it: `endpointslices`. */
  readonly name: string
  /** API group, empty for the core one. */
  readonly group: string
}

/** Where the objects of a namespace are, or the one of a name, from the server's root. */
export function toPath({ name, group }: Resource, namespace: string, object?: string): string {
  const root = group === '' ? '/api/v1' : `/apis/${group}/v1`
  const collection = `${root}/namespaces/${namespace}/${name}`
  return object === undefined ? collection : `${collection}/${object}`
}
