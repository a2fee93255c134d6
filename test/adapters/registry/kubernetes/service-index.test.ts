import t from 'tap'
import { toKubernetesService, toSlice } from '../../../../adapters/registry/kubernetes/objects.ts'
import {
  createServiceIndex,
  type ServiceIndex,
} from '../../../../adapters/registry/kubernetes/service-index.ts'
import type { RegistryEvent } from '../../../../core/contracts/registry.ts'
import type { ApiObject } from '../../../fixtures/kubernetes-object.ts'
import { makeKubernetesService, makeSlice } from '../../../fixtures/kubernetes-objects.ts'

interface Watched {
  readonly index: ServiceIndex
  readonly problems: string[]
  /** Events since the last call: type, name, version and nodes. */
  readonly takeEvents: () => string[]
}

function open(): Watched {
  const events: RegistryEvent[] = []
  const problems: string[] = []
  const index = createServiceIndex({
    onEvent: (event) => events.push(event),
    onProblem: (problem) => problems.push(problem),
  })
  const takeEvents = (): string[] =>
    events.splice(0).map(({ type, service: { name, version, nodes } }) => {
      return [type, name, version, ...nodes.map(({ address }) => address)].join(' ')
    })
  return { index, problems, takeEvents }
}

function toMap<T>(objects: readonly ApiObject[], convert: (object: unknown) => T): Map<string, T> {
  return new Map(objects.map((object) => [object.metadata.name, convert(object)]))
}

const services = (...objects: ApiObject[]) => toMap(objects, toKubernetesService)
const slices = (...objects: ApiObject[]) => toMap(objects, toSlice)
const GREETER = makeKubernetesService('greeter')
const SLICE = makeSlice('greeter-a', 'greeter', ['10.0.0.1'])

t.test('is empty until Services and slices are loaded', async (t) => {
  const single = open()
  single.index.replaceServices(services(GREETER))
  t.same(single.takeEvents(), [])
  t.same(single.index.listServices(), [])
  single.index.replaceSlices(slices(SLICE))
  t.same(single.takeEvents(), ['create greeter latest 10.0.0.1:8080'])
  const other = open()
  other.index.replaceSlices(slices(SLICE))
  t.same(other.takeEvents(), [])
  other.index.replaceServices(services(GREETER))
  t.same(other.takeEvents(), ['create greeter latest 10.0.0.1:8080'])
})

t.test('emits changes of slices and Services as service changes', async (t) => {
  const { index, takeEvents } = open()
  index.replaceServices(services(GREETER))
  index.replaceSlices(slices())
  t.same(takeEvents(), [], 'a Service without slices emits no event')
  index.changeSlices([
    { name: 'greeter-a', item: toSlice(SLICE) },
    { name: 'greeter-b', item: toSlice(makeSlice('greeter-b', 'greeter', ['10.0.0.2'])) },
  ])
  t.same(takeEvents(), ['create greeter latest 10.0.0.1:8080 10.0.0.2:8080'])
  index.changeSlices([{ name: 'greeter-b', item: undefined }])
  t.same(takeEvents(), ['update greeter latest 10.0.0.1:8080'])
  index.changeSlices([{ name: 'greeter-a', item: toSlice(structuredClone(SLICE)) }])
  t.same(takeEvents(), [], 'an unchanged object')
  const renamed = makeKubernetesService('greeter', { 'mx/name': 'hello', 'mx/version': 'v2' })
  index.changeServices([{ name: 'greeter', item: toKubernetesService(renamed) }])
  t.same(takeEvents(), ['delete greeter latest', 'create hello v2 10.0.0.1:8080'])
  index.changeServices([{ name: 'greeter', item: undefined }])
  t.same(takeEvents(), ['delete hello v2'])
  t.same(index.listServices(), [])
})

t.test('lists a Service without ready endpoints without nodes', async (t) => {
  const { index, takeEvents } = open()
  const notReady = makeSlice('greeter-a', 'greeter', [])
  index.replaceServices(services(makeKubernetesService('greeter', { 'mx/path': '/hello' })))
  index.replaceSlices(slices(SLICE))
  takeEvents()
  index.changeSlices([{ name: 'greeter-a', item: toSlice(notReady) }])
  t.same(takeEvents(), ['update greeter latest'])
  t.match(index.listServices(), [{ endpoints: [{ metadata: { path: '/hello' } }], nodes: [] }])
  index.changeSlices([{ name: 'greeter-a', item: toSlice(SLICE) }])
  t.same(takeEvents(), ['update greeter latest 10.0.0.1:8080'])
  index.changeServices([{ name: 'greeter', item: undefined }])
  t.same(takeEvents(), ['delete greeter latest'])
})

t.test('moves a slice to another Service', async (t) => {
  const { index, takeEvents } = open()
  index.replaceServices(services(GREETER, makeKubernetesService('users')))
  index.replaceSlices(slices(SLICE))
  takeEvents()
  index.changeSlices([
    { name: 'greeter-a', item: toSlice(makeSlice('greeter-a', 'users', ['10.0.0.1'])) },
  ])
  t.same(takeEvents(), ['delete greeter latest', 'create users latest 10.0.0.1:8080'])
})

t.test('emits the differences between the previous and the new list', async (t) => {
  const { index, takeEvents } = open()
  const users = makeKubernetesService('users')
  index.replaceServices(services(GREETER, users))
  index.replaceSlices(slices(SLICE, makeSlice('users-a', 'users', ['10.0.0.2'])))
  takeEvents()
  index.replaceSlices(slices(SLICE, makeSlice('users-b', 'users', ['10.0.0.3'])))
  t.same(takeEvents(), ['update users latest 10.0.0.3:8080'])
  index.replaceServices(services(users))
  t.same(takeEvents(), ['delete greeter latest'])
})

t.test('reads only changed objects in a new list', async (t) => {
  const { index, takeEvents, problems } = open()
  const at = (object: ApiObject, resourceVersion: string): ApiObject => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion },
  })
  index.replaceServices(services(at(GREETER, '1')))
  index.replaceSlices(slices(at(SLICE, '2')))
  takeEvents()
  const other = makeKubernetesService('greeter', { 'mx/weight': '2' })
  index.replaceServices(services(at(other, '1')))
  t.same(takeEvents(), [], 'the same revision means the same state')
  index.replaceServices(services(at(other, '3')))
  t.same(takeEvents(), ['update greeter latest 10.0.0.1:8080'])
  t.same(problems, [])
})

t.test('merges the nodes of Services with one name and version', async (t) => {
  const { index, takeEvents } = open()
  const annotations = { 'mx/name': 'shop.orders', 'mx/metadata-owner': 'a' }
  index.replaceServices(
    services(
      makeKubernetesService('orders-b', { 'mx/name': 'shop.orders', 'mx/metadata-owner': 'b' }),
      makeKubernetesService('orders-a', annotations),
    ),
  )
  index.replaceSlices(
    slices(
      makeSlice('b', 'orders-b', ['10.0.0.2', '10.0.0.1']),
      makeSlice('a', 'orders-a', ['10.0.0.1']),
    ),
  )
  t.same(takeEvents(), ['create shop.orders latest 10.0.0.1:8080 10.0.0.2:8080'])
  t.equal(
    index.getService('shop.orders')[0]!.metadata['owner'],
    'a',
    'with the metadata of the first Service',
  )
  index.changeSlices([{ name: 'a', item: undefined }])
  t.same(takeEvents(), ['update shop.orders latest 10.0.0.1:8080 10.0.0.2:8080'])
})

t.test('reports a problem once, and again after it was resolved', async (t) => {
  const { index, takeEvents, problems } = open()
  const bad = toKubernetesService(makeKubernetesService('greeter', { 'mx/weight': '0' }))
  index.replaceServices(services(GREETER))
  index.replaceSlices(slices(SLICE))
  takeEvents()
  index.changeServices([{ name: 'greeter', item: bad }])
  index.changeServices([{ name: 'greeter', item: bad }])
  t.same(takeEvents(), ['delete greeter latest'])
  t.equal(problems.length, 1)
  t.match(problems[0], /^Kubernetes service greeter is ignored: mx\/weight must be/)
  index.changeServices([{ name: 'greeter', item: toKubernetesService(GREETER) }])
  t.same(takeEvents(), ['create greeter latest 10.0.0.1:8080'])
  index.changeServices([{ name: 'greeter', item: bad }])
  t.equal(problems.length, 2)
})

t.test('completes a change before the first event', async (t) => {
  const names: string[][] = []
  const index: ServiceIndex = createServiceIndex({
    onEvent: () => names.push(index.listServices().map(({ name }) => name)),
    onProblem: (problem) => t.fail(problem),
  })
  index.replaceServices(services(GREETER, makeKubernetesService('users')))
  index.replaceSlices(slices(SLICE, makeSlice('users-a', 'users', ['10.0.0.2'])))
  t.same(names, Array(2).fill(['greeter', 'users']))
})
