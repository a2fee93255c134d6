import t from 'tap'
import { toKubernetesService, toSlice } from '../../../../adapters/registry/kubernetes/objects.ts'
import { toService } from '../../../../adapters/registry/kubernetes/to-service.ts'
import type { Service } from '../../../../core/contracts/registry.ts'
import type { ApiObject } from '../../../fixtures/kubernetes-object.ts'
import {
  makeEndpoint,
  makeKubernetesService,
  makeSlice,
} from '../../../fixtures/kubernetes-objects.ts'

const SLICE = makeSlice('greeter-a', 'greeter', ['10.0.0.1'])

function convert(service: ApiObject, ...slices: ApiObject[]): Service {
  return toService(toKubernetesService(service)!, slices.map(toSlice))
}

t.test('ignores FQDN slices, which could point the gateway at any host', async (t) => {
  const names = makeSlice('greeter-b', 'greeter', ['elsewhere.example.com'], {
    addressType: 'FQDN',
  })
  const { nodes } = convert(makeKubernetesService('greeter'), names, SLICE)
  t.same(
    nodes.map(({ address }) => address),
    ['10.0.0.1:8080'],
  )
})

t.test('reads mx settings from annotations', async (t) => {
  const service = convert(
    makeKubernetesService('greeter', {
      'mx/name': 'go.mx.api.greeter',
      'mx/version': 'v2',
      'mx/metadata-owner': 'team-a',
      'mx/endpoints': '[{"name": "Greeter.Hello"}]',
      'mx/path': '/orders/*',
      'mx/host': 'shop.example.com',
      'mx/method': 'GET,POST',
      'mx/protocol': 'https',
      'mx/weight': '5',
    }),
    SLICE,
  )
  const emptyValue = { name: '', type: '', values: [] }
  t.same(service, {
    name: 'go.mx.api.greeter',
    version: 'v2',
    metadata: { owner: 'team-a' },
    endpoints: [
      { name: 'Greeter.Hello', request: emptyValue, response: emptyValue, metadata: {} },
      {
        name: 'Http.Any',
        request: emptyValue,
        response: emptyValue,
        metadata: {
          handler: 'proxy',
          path: '/orders/*',
          host: 'shop.example.com',
          method: 'GET,POST',
        },
      },
    ],
    nodes: [
      {
        id: '10.0.0.1:8080',
        address: '10.0.0.1:8080',
        metadata: { protocol: 'https', weight: '5' },
      },
    ],
  })
})

t.test('uses the proxy handler for a path unless mx/handler is set', async (t) => {
  const annotations = { 'mx/path': '/ui/*', 'mx/handler': 'web' }
  const { endpoints } = convert(makeKubernetesService('ui', annotations), SLICE)
  t.same(endpoints[0]!.metadata, { handler: 'web', path: '/ui/*' })
  const single = convert(makeKubernetesService('ui', { 'mx/handler': 'web' }), SLICE)
  t.same(single.endpoints, [], 'no route without a path')
})

t.test('selects the port by mx/port, by a well-known name, or if it is the only one', async (t) => {
  const slice = (...names: string[]): ApiObject =>
    makeSlice('a', 'greeter', ['10.0.0.1'], {
      ports: names.map((name, i) => ({ name, port: 9000 + i })),
    })
  const cases: [string[], Record<string, string>, string, string | undefined][] = [
    [['metrics'], {}, '9000', undefined],
    [[''], {}, '9000', undefined],
    [['metrics', 'http'], {}, '9001', undefined],
    [['https', 'metrics'], {}, '9000', 'https'],
    [['http', 'mx'], {}, '9001', 'mx'],
    [['http', 'mxs'], {}, '9001', 'mxs'],
    [['http', 'admin'], { 'mx/port': 'admin' }, '9001', undefined],
    [['http', 'admin'], { 'mx/port': '81' }, '9001', undefined],
    [['mx'], { 'mx/protocol': 'http' }, '9000', 'http'],
  ]
  for (const [names, annotations, port, protocol] of cases) {
    const ports = names.map((name, i) => ({ name, port: 80 + i }))
    const { nodes } = convert(
      makeKubernetesService('greeter', annotations, { ports }),
      slice(...names),
    )
    t.equal(nodes[0]!.address, `10.0.0.1:${port}`, names.join())
    t.equal(nodes[0]!.metadata['protocol'], protocol, names.join())
  }
  const ports = [{ name: 'web', port: 443, appProtocol: 'https' }]
  const { nodes } = convert(makeKubernetesService('greeter', {}, { ports }), slice('web'))
  t.equal(nodes[0]!.metadata['protocol'], 'https', 'appProtocol also sets the protocol')
  t.same(
    convert(makeKubernetesService('greeter'), slice('other')).nodes,
    [],
    'a slice without the port',
  )
})

t.test('names the invalid setting and the expected form', async (t) => {
  const endpoints = [
    { name: 'a', port: 1 },
    { name: 'b', port: 2 },
  ]
  const cases: [ApiObject, RegExp][] = [
    [makeKubernetesService('a', { 'mx/name': 'a/b' }), /^service name must be .* got "a\/b"$/],
    [makeKubernetesService('a', { 'mx/version': '' }), /^version must be/],
    [makeKubernetesService('a', { 'mx/protocol': 'tcp' }), /^mx\/protocol must be .* got "tcp"$/],
    [makeKubernetesService('a', { 'mx/pipeline': '65' }), /^mx\/pipeline must be/],
    [makeKubernetesService('a', { 'mx/endpoints': '{' }), /^mx\/endpoints must be JSON/],
    [
      makeKubernetesService('a', { 'mx/port': 'grpc' }),
      /^mx\/port must be the name or number of one of its ports \(http \(80\)\), got "grpc"$/,
    ],
    [
      makeKubernetesService('a', {}, { ports: endpoints }),
      /^mx\/port must be one of its ports \(a \(1\), b \(2\)\), or one port must be named mx, mxs, http, https, grpc, grpcs$/,
    ],
    [makeKubernetesService('a', {}, { ports: [] }), /^it has no TCP port$/],
  ]
  for (const [service, message] of cases)
    t.throws(() => convert(service, SLICE), { name: 'TypeError', message })
  const invalidSlice = makeSlice('a', 'a', ['no such host'])
  t.throws(
    () => convert(makeKubernetesService('a'), invalidSlice),
    /^node id must be|^address of node/,
  )
})

t.test('merges a dual-stack pod to one node with the preferred address', async (t) => {
  const pod = { targetRef: { kind: 'Pod', name: 'greeter-0' } }
  const four = makeSlice('four', 'greeter', [makeEndpoint('10.0.0.1', pod)])
  const six = makeSlice('six', 'greeter', [makeEndpoint('fd00::1', pod)], { addressType: 'IPv6' })
  for (const [family, address] of [
    ['IPv4', '10.0.0.1:8080'],
    ['IPv6', '[fd00::1]:8080'],
  ] as const) {
    const service = makeKubernetesService('greeter', {}, { ipFamilies: [family] })
    const expected = [{ id: 'greeter-0', address, metadata: {} }]
    t.same(convert(service, four, six).nodes, expected)
    t.same(convert(service, six, four).nodes, expected)
  }
})

t.test('keeps an endpoint listed by two slices while it is ready in one', async (t) => {
  const conditions = { ready: false, serving: true, terminating: true }
  const terminating = makeSlice('a', 'greeter', [makeEndpoint('10.0.0.1', { conditions })])
  const service = makeKubernetesService('greeter')
  t.same(convert(service, terminating).nodes[0]!.metadata, { state: 'draining' })
  t.same(convert(service, terminating, SLICE).nodes, convert(service, SLICE).nodes)
  t.same(convert(service, SLICE, terminating).nodes, convert(service, SLICE).nodes)
})

t.test('treats a Service without endpoints as plain HTTP or by mx/handler', (t) => {
  const getHandler = (annotations: Record<string, string>): string | undefined =>
    convert(makeKubernetesService('greeter', annotations), SLICE).metadata['handler']
  t.equal(getHandler({}), 'proxy')
  t.equal(getHandler({ 'mx/protocol': 'https' }), 'proxy')
  t.equal(getHandler({ 'mx/handler': 'web' }), 'web')
  t.equal(getHandler({ 'mx/metadata-handler': 'rpc' }), 'rpc')
  t.equal(getHandler({ 'mx/protocol': 'mx' }), undefined, 'calls only, without a handler')
  t.equal(getHandler({ 'mx/endpoints': '[{"name": "Greeter.Hello"}]' }), undefined)
  t.equal(getHandler({ 'mx/endpoints': '[]' }), undefined)
  t.equal(getHandler({ 'mx/path': '/orders/*' }), undefined, 'the endpoint has the handler')
  t.end()
})

t.test('reads settings of the service from annotations', async (t) => {
  const annotations = {
    'mx/host': 'shop.example.com',
    'mx/keep_alive': '5s',
    'mx/timeout.response': '2s',
    'mx/host_header': 'backend',
  }
  const { metadata } = convert(makeKubernetesService('greeter', annotations), SLICE)
  t.same(metadata, {
    handler: 'proxy',
    'mx/keep_alive': '5s',
    'mx/timeout.response': '2s',
    'mx/host_header': 'backend',
  })
})
