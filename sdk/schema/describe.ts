import type { Endpoint } from '../../core/contracts/registry.ts'
import { POLICY } from '../../core/registry/service.ts'
import type { EndpointDefinition } from '../service/endpoint.ts'
import type { HttpRoute } from '../service/http-route.ts'
import { toValue } from './describe-message.ts'
import type { JsonSchema } from './json-schema.ts'

/**
 * Describes an endpoint for the registry (specification: Endpoint): fields of request and response, JSON Schemas,
 * route.
 *
 * @param name `<Handler>.<Method>`
 */
export function describeEndpoint(
  name: string,
  definition: EndpointDefinition,
  request: JsonSchema | undefined,
  response: JsonSchema | undefined,
): Endpoint {
  const { kind, description, idempotent, readOnly, http, policies } = definition
  const method = name.slice(name.indexOf('.') + 1)
  return {
    name,
    request: toValue(`${method}Request`, request),
    response: toValue(`${method}Response`, response),
    metadata: {
      ...(description === '' ? {} : { description }),
      ...(kind === 'unary' ? {} : { stream: 'true', streams: kind }),
      ...(idempotent === undefined ? {} : { idempotent: String(idempotent) }),
      ...(readOnly ? { readOnly: 'true' } : {}),
      ...Object.fromEntries(
        Object.entries(policies).map(([name, options]) => [POLICY + name, JSON.stringify(options)]),
      ),
      ...(request === undefined ? {} : { requestSchema: JSON.stringify(request) }),
      ...(response === undefined ? {} : { responseSchema: JSON.stringify(response) }),
      ...(http === undefined ? {} : describeRoute(name, http)),
    },
  }
}

/** Lists are joined by commas (reference 1.7). */
function describeRoute(name: string, route: HttpRoute): Record<string, string> {
  const { method, path, host, handler = 'rpc' } = route
  return {
    endpoint: name,
    handler,
    method: [method].flat().join(',').toUpperCase(),
    path: [path].flat().join(','),
    ...(host === undefined ? {} : { host: [host].flat().join(',') }),
  }
}
