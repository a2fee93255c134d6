import t, { type Test } from 'tap'
import { findCluster } from '../../../adapters/kubernetes/cluster.ts'
import { createMirror, type Mirror } from '../../../adapters/kubernetes/informer.ts'
import {
  answerStatus,
  type KubernetesApi,
  openKubernetesApi,
} from '../../fixtures/kubernetes-api.ts'
import { makeKubernetesService, makeSlice } from '../../fixtures/kubernetes-objects.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

interface Mirrored {
  readonly api: KubernetesApi
  readonly mirror: Mirror
  /** Names of existing objects. */
  readonly names: Set<string>
  readonly outages: (string | undefined)[]
}

/** Mirrors the Services and slices of a server with one of each. */
async function open(t: Test): Promise<Mirrored> {
  const api = await openKubernetesApi(t)
  api.enterCluster()
  api.write('services', makeKubernetesService('a'))
  api.write('endpointslices', makeSlice('a-1', 'a', []))
  const names = new Set<string>()
  const outages: (string | undefined)[] = []
  const mirror = createMirror({
    name: 'the mirror',
    findCluster: () => findCluster({ accountFolder: api.accountFolder }),
    onOutage: (reason) => outages.push(reason?.message),
  })
  for (const resource of [
    { name: 'services', group: '' },
    { name: 'endpointslices', group: 'discovery.k8s.io' },
  ])
    mirror.add({
      resource,
      toItem: () => true,
      onList: (items) => {
        for (const name of items.keys()) names.add(name)
      },
      onChanges: (changes) => {
        for (const { name } of changes) names.add(name)
      },
    })
  t.teardown(mirror.close)
  return { api, mirror, names, outages }
}

t.test('starts with the first query, which waits for all lists', async (t) => {
  const { api, mirror, names } = await open(t)
  t.same(api.requests, [])
  const result = mirror.query(() => [...names].sort())
  t.ok(result instanceof Promise)
  t.same(await result, ['a', 'a-1'])
  t.same(
    mirror.query(() => names.size),
    2,
  )
  await waitUntil(() => api.watchers.size === 2)
  api.write('services', makeKubernetesService('b'))
  await waitUntil(() => names.has('b'))
})

t.test('rejects pending queries and reports one outage when a list fails', async (t) => {
  const { api, mirror, outages } = await open(t)
  api.intercept = (_, __, response) => {
    answerStatus(response, 403, 'no')
    return true
  }
  await t.rejects(Promise.resolve(mirror.query(() => 0)), /access denied/)
  t.throws(() => mirror.query(() => 0), /access denied/, 'later queries fail immediately')
  t.match(outages, [/access denied/])
  t.equal(outages.length, 1)
  api.intercept = () => false
  await waitUntil(() => outages.length === 2)
  t.equal(outages[1], undefined)
  t.equal(
    mirror.query(() => 1),
    1,
  )
})

t.test('rejects pending and new queries after close', async (t) => {
  const { api, mirror } = await open(t)
  api.intercept = () => true
  const pending = t.rejects(Promise.resolve(mirror.query(() => 0)), /the mirror is closed/)
  mirror.close()
  await pending
  t.throws(() => mirror.query(() => 0), /the mirror is closed/)
  mirror.start()
  await new Promise(setImmediate)
  t.equal(api.watchers.size, 0)
})
