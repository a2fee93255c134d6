import t, { type Test } from 'tap'
import { findCluster } from '../../../../adapters/kubernetes/cluster.ts'
import { createCalls } from '../../../../adapters/runtime/kubernetes/calls.ts'
import {
  answerStatus,
  type KubernetesApi,
  openKubernetesApi,
} from '../../../fixtures/kubernetes-api.ts'

const SECRETS = { name: 'secrets', group: '' }
const SECRET = {
  ...{ apiVersion: 'v1', kind: 'Secret' },
  metadata: { name: 'a', labels: { app: 'shop' } },
  data: { b: 'Yg==' },
}

const OTHER_DATA = { ...SECRET, data: { c: 'Yw==' } }
const OTHER = { ...SECRET, metadata: { name: 'b', labels: { app: 'other' } } }

async function open(t: Test) {
  const api = await openKubernetesApi(t)
  api.enterCluster()
  const end = new AbortController()
  const find = () => findCluster({ accountFolder: api.accountFolder })
  return { api, calls: createCalls(find, end.signal), end }
}

/** Responds to the first requests with these statuses, and counts all requests. */
function rejectRequests(api: KubernetesApi, status: number, times: number): () => number {
  let count = 0
  api.intercept = (_, __, response) => {
    if (++count > times) return false
    answerStatus(response, status, 'no')
    return true
  }
  return () => count
}

t.test('creates, changes and lists an object', async (t) => {
  const { api, calls } = await open(t)
  t.match(await calls.apply(SECRETS, SECRET), { metadata: { name: 'a', generation: 1 } })
  await calls.apply(SECRETS, OTHER_DATA)
  t.match(api.list('secrets'), [{ metadata: { name: 'a' }, data: { c: 'Yw==' } }])
  await calls.apply(SECRETS, OTHER)
  t.match(await calls.list(SECRETS, 'app=shop'), [{ metadata: { name: 'a' } }])
  t.equal(
    api.requests[0],
    '/api/v1/namespaces/shop/secrets/a?fieldManager=mx&force=true',
    'server-side apply',
  )
})

t.test('succeeds in deleting a missing object', async (t) => {
  const { api, calls } = await open(t)
  await calls.apply(SECRETS, SECRET)
  await calls.remove(SECRETS, 'a')
  t.same(api.list('secrets'), [])
  await calls.remove(SECRETS, 'a')
})

t.test('retries temporary failures only', async (t) => {
  for (const status of [409, 429, 500, 503]) {
    const { api, calls } = await open(t)
    const count = rejectRequests(api, status, 1)
    await calls.apply(SECRETS, SECRET)
    t.equal(count(), 2, `${status}`)
  }
  for (const status of [400, 401, 403, 404, 422]) {
    const { api, calls } = await open(t)
    const count = rejectRequests(api, status, 1)
    await t.rejects(calls.apply(SECRETS, SECRET), /^cannot apply Kubernetes secrets: /)
    t.equal(count(), 1, `${status}`)
  }
})

t.test('does not retry an aborted call', async (t) => {
  const { api, calls, end } = await open(t)
  const count = rejectRequests(api, 503, 1000)
  const call = t.rejects(calls.apply(SECRETS, SECRET))
  setTimeout(() => end.abort(), 50)
  await call
  t.ok(count() <= 1)
})
