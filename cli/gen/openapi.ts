import { type HttpRoutePath, variablesOf } from '../../sdk/service/http-routes.ts'
import type { EndpointInterface, Interfaces, ServiceInterface } from './interface.ts'
import { REF } from './interface.ts'

const ERROR = {
  type: 'object',
  required: ['Id', 'Code', 'Detail', 'Status'],
  properties: {
    Id: { type: 'string', description: 'Service, or an id that the service sets.' },
    Code: { type: 'integer', description: 'HTTP status.' },
    Detail: { type: 'string' },
    Status: { type: 'string' },
  },
}
const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'PUT',
  'POST',
  'DELETE',
  'OPTIONS',
  'HEAD',
  'PATCH',
  'TRACE',
])
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'])

/**
 * Generates the OpenAPI 3.1 document of services behind a gateway (specification: Server API gateway).
 *
 * @param url base URL of the gateway
 */
export function toOpenApi({ services, schemas }: Interfaces, url: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const service of services)
    for (const endpoint of service.endpoints)
      for (const route of endpoint.routes.filter(({ method }) => METHODS.has(method))) {
        const { path } = route
        const operation = toOperation(service, endpoint, route)
        const key = route.method.toLowerCase()
        paths[path] = { ...paths[path], [key]: paths[path]?.[key] ?? operation }
      }
  return {
    openapi: '3.1.0',
    info: {
      title: services.map(({ name }) => name).join(', '),
      version: services.map(({ version }) => version).join(', '),
    },
    servers: [{ url }],
    // Optional, because access rules decide whether a token is required.
    security: [{}, { token: [] }],
    tags: services.map(({ name }) => ({ name })),
    paths,
    components: {
      schemas: { ...schemas, Error: ERROR },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function toOperation(
  { name }: ServiceInterface,
  endpoint: EndpointInterface,
  { method, path, isDeclared }: HttpRoutePath,
): object {
  const { handler, method: methodName, description, isStream, request, response } = endpoint
  const variables = variablesOf(path)
  return {
    operationId: `${name}.${handler}.${methodName}${isDeclared ? ` ${method} ${path}` : ''}`,
    tags: [name],
    ...(description !== '' && { summary: description }),
    ...(variables.length > 0 && {
      parameters: variables.map((variable) => ({
        ...{ name: variable, in: 'path', required: true },
        schema: { type: 'string' },
      })),
    }),
    ...(!WITHOUT_BODY.has(method) && {
      requestBody: { content: { 'application/json': { schema: { $ref: REF + request } } } },
    }),
    responses: {
      200: {
        description: isStream ? 'Stream of JSON documents, one per line.' : 'Response.',
        content: {
          [isStream ? 'application/x-ndjson' : 'application/json']: {
            schema: { $ref: REF + response },
          },
        },
      },
      default: {
        description: 'Error.',
        content: { 'application/json': { schema: { $ref: `${REF}Error` } } },
      },
    },
  }
}
