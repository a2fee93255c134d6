import t from 'tap'
import type { Value } from '../../../core/contracts/registry.ts'
import { openPlatformRegistry, type Services } from '../../fixtures/platform-registry.ts'

/** `name type`, followed by its fields. */
function show({ name, type, values }: Value): string {
  const fields = values.map(show).join(', ')
  return `${name} ${type}${fields === '' ? '' : ` {${fields}}`}`
}

t.test('the registry describes requests and responses of its own endpoints', async (t) => {
  const { call } = await openPlatformRegistry(t)
  const { services } = await call<Services>('GetService', { service: 'registry' })
  const findMessages = (name: string) =>
    services[0]?.endpoints.find((endpoint) => endpoint.name === `Registry.${name}`)
  const options = 'options object {ttl int64, domain string}'
  t.equal(
    show(findMessages('GetService')!.request),
    `GetServiceRequest GetServiceRequest {service string, ${options}}`,
  )
  t.equal(
    show(findMessages('ListServices')!.request),
    `ListServicesRequest ListServicesRequest {${options}, limit int64, after string}`,
  )
  t.equal(
    show(findMessages('Watch')!.request),
    `WatchRequest WatchRequest {service string, ${options}}`,
  )
  t.strictSame(
    findMessages('Register')!.request.values.map(({ name, type }) => `${name} ${type}`),
    [
      'name string',
      'version string',
      'metadata map[string]string',
      'endpoints []object',
      'nodes []object',
      'options object',
    ],
  )
  t.strictSame(findMessages('Deregister')!.request.values, findMessages('Register')!.request.values)
  t.strictSame(findMessages('Register')!.response.values, [])
  t.strictSame(
    findMessages('Watch')!.response.values.map(({ name, type }) => `${name} ${type}`),
    ['action string', 'service object', 'timestamp int64'],
  )
  t.equal(findMessages('Watch')!.metadata['stream'], 'true')
})
