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
  const of = (name: string) =>
    services[0]?.endpoints.find((endpoint) => endpoint.name === `Registry.${name}`)
  const options = 'options object {ttl int64, domain string}'
  t.equal(
    show(of('GetService')!.request),
    `GetServiceRequest GetServiceRequest {service string, ${options}}`,
  )
  t.equal(
    show(of('ListServices')!.request),
    `ListServicesRequest ListServicesRequest {${options}, limit int64, after string}`,
  )
  t.equal(show(of('Watch')!.request), `WatchRequest WatchRequest {service string, ${options}}`)
  t.strictSame(
    of('Register')!.request.values.map(({ name, type }) => `${name} ${type}`),
    [
      'name string',
      'version string',
      'metadata map[string]string',
      'endpoints []object',
      'nodes []object',
      'options object',
    ],
  )
  t.strictSame(of('Deregister')!.request.values, of('Register')!.request.values)
  t.strictSame(of('Register')!.response.values, [])
  t.strictSame(
    of('Watch')!.response.values.map(({ name, type }) => `${name} ${type}`),
    ['action string', 'service object', 'timestamp int64'],
  )
  t.equal(of('Watch')!.metadata['stream'], 'true')
})
