/** A Kubernetes API resource. */
export interface Resource {
  /** Plural name as used in roles, for example `endpointslices`. */
  readonly name: string
  /** API group; empty for the core group. */
  readonly group: string
}

/** Returns the path of a namespaced collection or of one of its objects. */
export function toPath({ name, group }: Resource, namespace: string, object?: string): string {
  const root = group === '' ? '/api/v1' : `/apis/${group}/v1`
  const collection = `${root}/namespaces/${namespace}/${name}`
  return object === undefined ? collection : `${collection}/${object}`
}
