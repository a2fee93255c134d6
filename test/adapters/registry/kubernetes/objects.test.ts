import t from 'tap'
import { toKubernetesService, toSlice } from '../../../../adapters/registry/kubernetes/objects.ts'
import {
  makeEndpoint,
  makeKubernetesService,
  makeSlice,
} from '../../../fixtures/kubernetes-objects.ts'

t.test('reads mx annotations and TCP ports of a Service', async (t) => {
  const service = toKubernetesService({
    metadata: {
      name: 'greeter',
      resourceVersion: '7',
      annotations: { 'mx/version': 'v2', 'kubectl.kubernetes.io/x': 'y', mx: 'z' },
    },
    spec: {
      ipFamilies: ['IPv6', 'IPv4'],
      ports: [
        { name: 'http', port: 80, protocol: 'TCP' },
        { name: 'dns', port: 53, protocol: 'UDP' },
        { port: 443, appProtocol: 'https' },
      ],
    },
  })
  t.same(service, {
    name: 'greeter',
    revision: '7',
    annotations: new Map([['version', 'v2']]),
    ports: [
      { name: 'http', port: 80, appProtocol: '' },
      { name: '', port: 443, appProtocol: 'https' },
    ],
    family: 'IPv6',
  })
})

t.test('ignores unroutable Services', async (t) => {
  const labels = { component: 'apiserver', provider: 'kubernetes' }
  const external = { type: 'ExternalName', externalName: 'metadata.google.internal' }
  t.equal(toKubernetesService(makeKubernetesService('a', { 'mx/ignore': 'true' })), undefined)
  t.equal(toKubernetesService(makeKubernetesService('a', {}, external)), undefined)
  t.equal(toKubernetesService({ metadata: { name: 'kubernetes', labels }, spec: {} }), undefined)
  t.ok(toKubernetesService(makeKubernetesService('a', { 'mx/ignore': 'false' })))
  t.ok(toKubernetesService({ metadata: { name: 'headless' } }), 'a Service may lack ports')
})

t.test('reads ready endpoints, and marks terminating but serving ones as draining', async (t) => {
  const conditions: [object | undefined, string][] = [
    [undefined, 'usable'],
    [{}, 'usable'],
    [{ ready: true }, 'usable'],
    [{ ready: null, serving: null, terminating: null }, 'usable'],
    [{ ready: false }, 'left out'],
    [{ ready: false, serving: true }, 'left out'],
    [{ ready: false, serving: true, terminating: true }, 'draining'],
    [{ ready: true, terminating: true }, 'draining'],
    [{ ready: false, serving: false, terminating: true }, 'left out'],
    [{ ready: false, terminating: true }, 'left out'],
  ]
  for (const [input, expected] of conditions) {
    const slice = toSlice(makeSlice('a', 'a', [makeEndpoint('10.0.0.1', { conditions: input })]))
    const [endpoint] = slice.endpoints
    const received = endpoint === undefined ? 'left out' : endpoint.draining ? 'draining' : 'usable'
    t.equal(received, expected, JSON.stringify(input))
  }
})

t.test('reads the first address and the pod of an endpoint', async (t) => {
  const pod = { targetRef: { kind: 'Pod', name: 'greeter-7d4b' } }
  const vm = { targetRef: { kind: 'VirtualMachine', name: 'vm' } }
  const { endpoints } = toSlice(
    makeSlice('a', 'a', [
      { addresses: ['10.0.0.1', '10.0.0.2'], ...pod },
      makeEndpoint('10.0.0.3', vm),
      { addresses: [] },
    ]),
  )
  t.same(endpoints, [
    { address: '10.0.0.1', pod: 'greeter-7d4b', draining: false },
    { address: '10.0.0.3', pod: undefined, draining: false },
  ])
})

t.test('reads slice ports by name, except UDP ports and ports without a number', async (t) => {
  const ports = [
    { name: 'http', port: 8080 },
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'any', port: null },
    { name: null, port: 9000, protocol: 'TCP' },
  ]
  const slice = toSlice(makeSlice('a', 'greeter', [], { ports, addressType: 'IPv6' }))
  t.same(
    [...slice.ports],
    [
      ['http', 8080],
      ['', 9000],
    ],
  )
  t.equal(slice.service, 'greeter')
  t.equal(slice.addressType, 'IPv6')
  t.equal(toSlice({ metadata: { name: 'alone' }, endpoints: null, ports: null }).service, '')
})
