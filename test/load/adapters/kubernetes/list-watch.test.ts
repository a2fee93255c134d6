import t, { type Test } from 'tap'
import { findCluster } from '../../../../adapters/kubernetes/cluster.ts'
import { type ReflectOptions, reflect } from '../../../../adapters/kubernetes/list-watch.ts'
import {
  answerStatus,
  type KubernetesApi,
  openKubernetesApi,
  toExpiredLine,
} from '../../../fixtures/kubernetes-api.ts'
import type { ApiObject } from '../../../fixtures/kubernetes-object.ts'
import { makeKubernetesService } from '../../../fixtures/kubernetes-objects.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

interface FollowedList {
  readonly api: KubernetesApi
  /** Events received: names of a list, `+` and `-` with changed names, `out: reason` and `in`. */
  readonly events: string[]
  readonly stop: () => void
}

/** Watches the Services of a server with a, b and c. */
async function follow(
  t: Test,
  options: Partial<ReflectOptions<ApiObject>> = {},
  prepare: (api: KubernetesApi) => void = () => {},
): Promise<FollowedList> {
  const api = await openKubernetesApi(t)
  api.enterCluster()
  for (const name of ['a', 'b', 'c']) api.write('services', makeKubernetesService(name))
  prepare(api)
  const events: string[] = []
  const stop = reflect<ApiObject>({
    findCluster: () => findCluster({ accountFolder: api.accountFolder }),
    resource: { name: 'services', group: '' },
    toItem: (object) => object as ApiObject,
    onList: (items) => events.push(`list ${[...items.keys()].join(' ')}`),
    onChanges: (changes) =>
      events.push(changes.map(({ name, item }) => `${item ? '+' : '-'}${name}`).join(' ')),
    onOutage: (reason) => events.push(reason === undefined ? 'in' : `out: ${reason.message}`),
    retryMs: 1,
    ...options,
  })
  t.teardown(stop)
  return { api, events, stop }
}

/** Start versions of the watches so far. */
function findPlaces(api: KubernetesApi): string[] {
  return api.requests.flatMap((url) => /resourceVersion=(\d+)/.exec(url)?.[1] ?? [])
}

function countLists(api: KubernetesApi): number {
  return api.requests.filter((url) => /limit=\d+$/.test(url)).length
}

t.test('lists a collection in pages and watches it from there', async (t) => {
  const { api, events } = await follow(t, { pageSize: 2 })
  await waitUntil(() => events.includes('in'))
  t.same(events, ['list a b c', 'in'])
  const services = '/api/v1/namespaces/shop/services'
  t.same(api.requests.slice(0, 2), [`${services}?limit=2`, `${services}?limit=2&continue=2`])
  t.match(
    api.requests[2],
    /services\?watch=1&allowWatchBookmarks=1&resourceVersion=103&timeoutSeconds=\d+$/,
  )
  api.write('services', makeKubernetesService('d'), makeKubernetesService('a'))
  await waitUntil(() => events.length === 3)
  api.remove('services', 'b')
  await waitUntil(() => events.length === 4)
  t.same(events.slice(2), ['+d +a', '-b'])
})

t.test('requests only objects with the selected labels', async (t) => {
  const label = (name: string, labels: Record<string, string>): ApiObject => ({
    metadata: { name, labels },
  })
  const { api, events } = await follow(t, { selector: 'app=shop,tier=web' }, (api) =>
    api.write('services', label('d', { app: 'shop', tier: 'web' }), label('e', { app: 'shop' })),
  )
  await waitUntil(() => events.includes('in'))
  api.write('services', label('f', { app: 'other', tier: 'web' }))
  api.write('services', label('g', { app: 'shop', tier: 'web' }))
  await waitUntil(() => events.length === 3)
  t.same(events, ['list d', 'in', '+g'])
})

t.test('reads complete events for any chunk size', async (t) => {
  const { api, events } = await follow(t, {}, (api) => {
    api.pieceBytes = 5
  })
  await waitUntil(() => events.includes('in'))
  api.write('services', makeKubernetesService('d'), makeKubernetesService('e', { 'mx/x': 'ü€' }))
  await waitUntil(() => events.length === 4)
  t.same(events.slice(2), ['+d', '+e'])
})

t.test('resumes a broken connection without an outage', async (t) => {
  const { api, events } = await follow(t)
  await waitUntil(() => api.watchers.size === 1)
  api.write('services', makeKubernetesService('d'))
  await waitUntil(() => events.includes('+d'))
  api.disconnect()
  api.write('services', makeKubernetesService('e'))
  await waitUntil(() => events.includes('+e'))
  t.same(events, ['list a b c', 'in', '+d', '+e'])
  t.same(findPlaces(api), ['103', '104'])
})

t.test('resumes a watch from the last bookmark', async (t) => {
  const { api, events } = await follow(t)
  await waitUntil(() => api.watchers.size === 1)
  api.bookmark('services')
  api.write('services', makeKubernetesService('d'))
  await waitUntil(() => events.includes('+d'))
  api.bookmark('services')
  const marked = 106
  // Events arrive in order: e arrives after the bookmark.
  api.send(
    'services',
    `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'e' } } })}\n`,
  )
  await waitUntil(() => events.includes('+e'))
  api.compact()
  api.intercept = (url) => {
    t.equal(url.searchParams.get('resourceVersion'), `${marked}`)
    api.intercept = () => false
    return false
  }
  api.disconnect()
  await waitUntil(() => countLists(api) === 2)
  t.same(events.slice(0, 4), ['list a b c', 'in', '+d', '+e'])
})

t.test('lists again without an outage when the version has expired', async (t) => {
  const { api, events } = await follow(t)
  await waitUntil(() => api.watchers.size === 1)
  api.disconnect()
  api.remove('services', 'a')
  api.compact()
  await waitUntil(() => events.length === 3)
  t.same(events, ['list a b c', 'in', 'list b c'])
})

t.test('lists again without an outage when a watch expires', async (t) => {
  const { api, events } = await follow(t)
  await waitUntil(() => api.watchers.size === 1)
  api.send('services', toExpiredLine(103, 200))
  await waitUntil(() => events.length === 3)
  t.same(events, ['list a b c', 'in', 'list a b c'])
})

t.test('recovers from an outage with an expired watch by listing again', async (t) => {
  const { api, events } = await follow(t, { retryMs: 1000 })
  await waitUntil(() => api.watchers.size === 1)
  const times: number[] = []
  let isUnavailable = true
  api.intercept = (_, __, response) => {
    if (isUnavailable) answerStatus(response, 503, 'starting')
    else times.push(performance.now())
    return isUnavailable
  }
  api.disconnect()
  await waitUntil(() => events.length === 3)
  isUnavailable = false
  api.remove('services', 'a')
  api.compact()
  await waitUntil(() => events.at(-1) === 'in')
  t.match(events, ['list a b c', 'in', /^out: .* 503 starting$/, 'list b c', 'in'])
  const [watchedMs = 0, listedMs = 0] = times
  t.ok(listedMs - watchedMs < 1000, 'without the delay after a second failure')
})

t.test('reports an outage and pauses when every watch expires', async (t) => {
  const { api, events } = await follow(t, {}, (api) => {
    api.intercept = (url, _, response) => {
      if (!url.searchParams.has('watch')) return false
      response.writeHead(200).end(toExpiredLine(103, 200))
      return true
    }
  })
  await waitUntil(() => events.some((line) => line.startsWith('out')))
  t.match(events.slice(0, 4), [
    'list a b c',
    'in',
    'list a b c',
    /^out: .* too old resource version/,
  ])
  t.equal(countLists(api), 2)
})

t.test('lists again when a restored server has an older state', async (t) => {
  const { api, events } = await follow(t)
  await waitUntil(() => api.watchers.size === 1)
  api.disconnect()
  api.remove('services', 'a')
  api.intercept = (url, _, response) => {
    if (!url.searchParams.has('watch')) return false
    api.intercept = () => false
    answerStatus(response, 504, 'Too large resource version: 103, current: 2')
    return true
  }
  await waitUntil(() => events.length === 5)
  t.match(events, ['list a b c', 'in', /^out: .*Too large/, 'list b c', 'in'])
})

t.test('restarts a list that expires between pages', async (t) => {
  let expired = 0
  const { api, events } = await follow(t, { pageSize: 2 }, (api) => {
    api.intercept = (url, _, response) => {
      if (!url.searchParams.has('continue') || expired++ > 0) return false
      answerStatus(response, 410, 'the provided continue parameter is too old')
      return true
    }
  })
  await waitUntil(() => events.includes('in'))
  t.same(events, ['list a b c', 'in'])
  t.equal(countLists(api), 2)
})

t.test('restarts a list whose connection breaks between pages', async (t) => {
  let broken = 0
  const { events } = await follow(t, { pageSize: 2 }, (api) => {
    api.intercept = (url, request) => {
      if (!url.searchParams.has('continue') || broken++ > 0) return false
      request.socket.destroy()
      return true
    }
  })
  await waitUntil(() => events.includes('in'))
  t.match(events, [/^out: /, 'list a b c', 'in'])
})

t.test('continues a watch that the server ended in time', async (t) => {
  const { api, events } = await follow(t, { watchSeconds: 0 })
  await waitUntil(() => findPlaces(api).length > 3)
  t.same([...new Set(findPlaces(api))], ['103'])
  t.equal(countLists(api), 1)
  t.notMatch(events.join(), /out/)
})

t.test('reconnects to a server that stops responding', async (t) => {
  const { api, events } = await follow(t, { watchSeconds: 0, graceMs: 300 }, (api) => {
    api.intercept = (url, _, response) => {
      if (!url.searchParams.has('watch')) return false
      response.writeHead(200).flushHeaders()
      api.intercept = () => false
      return true
    }
  })
  await waitUntil(() => findPlaces(api).length > 2)
  t.same(events, ['list a b c', 'in'])
  t.equal(countLists(api), 1)
})

t.test('reports an outage if there is no response in time', async (t) => {
  const { events } = await follow(t, { graceMs: 20 }, (api) => {
    api.intercept = () => {
      api.intercept = () => false
      return true
    }
  })
  await waitUntil(() => events.includes('in'))
  t.equal(events[0], 'out: cannot watch Kubernetes services: no response within 20 ms')
})

t.test('reports an outage for an unusable response until the next list', async (t) => {
  const { api, events } = await follow(t)
  for (const text of ['{"type":\n', '7\n', '{"type":"ADDED","object":{"metadata":{}}}\n']) {
    events.length = 0
    await waitUntil(() => api.watchers.size === 1)
    api.send('services', text)
    await waitUntil(() => events.length >= 3 && events.at(-1) === 'in')
    t.match(events.slice(-3), [
      /^out: cannot watch Kubernetes services: the response /,
      'list a b c',
      'in',
    ])
  }
})

t.test('reports an unreadable object', async (t) => {
  let healthy = false
  const { events } = await follow(t, {
    toItem: (object) => {
      if (!healthy) throw new TypeError('spec.ports is no list')
      return object as ApiObject
    },
  })
  await waitUntil(() => events.length > 0)
  healthy = true
  await waitUntil(() => events.includes('in'))
  t.match(events[0], /^out: .* unusable response: spec\.ports is no list$/)
  t.same(events.slice(-2), ['list a b c', 'in'])
})

t.test('distinguishes rejected credentials and missing permissions from an outage', async (t) => {
  for (const [status, message] of [
    [401, /^out: cannot watch Kubernetes services: the credentials were rejected \(401 /],
    [
      403,
      /access denied; grant the verbs get, list and watch on services in the core API group ""/,
    ],
    [503, /^out: cannot watch Kubernetes services: 503 /],
  ] as const) {
    const { events } = await follow(t, {}, (api) => {
      api.intercept = (_, __, response) => {
        api.intercept = () => false
        answerStatus(response, status, 'no')
        return true
      }
    })
    await waitUntil(() => events.includes('in'))
    t.match(events[0], message)
  }
})

t.test('reports a denied watch despite a permitted list', async (t) => {
  const { api, events } = await follow(t, {}, (api) => {
    api.intercept = (url, _, response) => {
      if (!url.searchParams.has('watch')) return false
      answerStatus(response, 403, 'cannot watch')
      return true
    }
  })
  await waitUntil(() => events.length >= 3)
  t.equal(events[0], 'list a b c')
  t.match(events[1], /^out: .* list and watch/)
  t.equal(countLists(api), 1, 'the list is not repeated')
})

t.test('reports nothing after stop', async (t) => {
  const { api, events, stop } = await follow(t)
  await waitUntil(() => events.includes('in'))
  stop()
  stop()
  api.write('services', makeKubernetesService('d'))
  await waitUntil(() => api.watchers.size === 0)
  t.same(events, ['list a b c', 'in'])
})
