import type { Endpoint } from '../../core/contracts/registry.ts'
import { toLower, toPascal } from '../../lib/text/case.ts'

/** A method and path of a gateway that lead to an endpoint. */
export interface HttpRoutePath {
  readonly method: string
  /** Variables are `{name}`. */
  readonly path: string
  /** A route of its own; false: where every call is served. */
  readonly isDeclared: boolean
}

const VARIABLE = /\{([^{}=]+)(?:=[^{}]*)?\}/g

/** The routes an endpoint declares (reference 1.7), else where the gateway serves every call. Regular expressions have no such form. */
export function listHttpRoutes(
  service: string,
  { name, metadata }: Pick<Endpoint, 'name' | 'metadata'>,
): readonly HttpRoutePath[] {
  const paths = (metadata['path'] ?? '').split(',').filter((path) => path.startsWith('/'))
  if (paths.length > 0) {
    const named = (metadata['method'] ?? '').split(',').filter((each) => /^[A-Z]+$/.test(each))
    const methods = named.length > 0 ? named : ['POST']
    return methods.flatMap((method) =>
      paths.map((path) => ({ method, path: path.replaceAll(VARIABLE, '{$1}'), isDeclared: true })),
    )
  }
  const dot = name.lastIndexOf('.')
  const [handler, method] = [name.slice(0, dot), name.slice(dot + 1)]
  const words = handler === toPascal(service) ? [method] : [handler, method]
  const path = `/${[service.replaceAll('.', '/'), ...words.map(toLower)].join('/')}`
  return [{ method: 'POST', path, isDeclared: false }]
}

/** Names of the variables of a path. */
export function variablesOf(path: string): readonly string[] {
  return [...path.matchAll(VARIABLE)].map(([, name]) => name!)
}
