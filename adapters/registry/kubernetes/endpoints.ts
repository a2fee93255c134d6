import type { Endpoint } from '../../../core/contracts/registry.ts'
import { isRecord, readEndpoint } from '../../../core/registry/decode-service.ts'

const MAX_ENDPOINTS = 1000

/**
 * Reads `mx/endpoints`: `[{"name": "Greeter.Hello", "request": {…}, "response": {…}, "metadata": {…}}, …]`, of which only
 * the name must be there.
 *
 * @throws {TypeError} naming the first wrong field and what would be right.
 */
export function parseEndpoints(text: string): Endpoint[] {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch (cause) {
    throw new TypeError(`mx/endpoints must be JSON: ${(cause as Error).message}`, { cause })
  }
  if (!Array.isArray(list) || list.length > MAX_ENDPOINTS)
    throw new TypeError(`mx/endpoints must be a list of at most ${MAX_ENDPOINTS} endpoints`)
  return list.map((endpoint: unknown, i) => {
    const path = `mx/endpoints[${i}]`
    if (!isRecord(endpoint)) return refuse(path, 'must be an object')
    if (endpoint['name'] === undefined) return refuse(`${path}.name`, 'must be a string')
    return readEndpoint(endpoint, path, refuse)
  })
}

function refuse(path: string, must: string): never {
  throw new TypeError(`${path} ${must}`)
}
