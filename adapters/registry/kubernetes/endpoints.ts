import type { Endpoint } from '../../../core/contracts/registry.ts'
import { isRecord, readEndpoint } from '../../../core/registry/decode-service.ts'

const MAX_ENDPOINTS = 1000

/**
 * Parses `mx/endpoints`: `[{"name": "Greeter.Hello", "request": {…}, "response": {…}, "metadata":
 * {…}}, …]`. Only the name is required.
 *
 * @throws {TypeError} with the first invalid field and its expected form.
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
    if (!isRecord(endpoint)) return reject(path, 'must be an object')
    if (endpoint['name'] === undefined) return reject(`${path}.name`, 'must be a string')
    return readEndpoint(endpoint, path, reject)
  })
}

function reject(path: string, must: string): never {
  throw new TypeError(`${path} ${must}`)
}
