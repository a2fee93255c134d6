import t from 'tap'
import type { EventTopic, TopicState } from '../../../core/contracts/events.ts'
import { createQuota } from '../../../core/limits/quota.ts'
import { createTopicCache } from '../../../domain/events/topic-cache.ts'

const toTopic = (topic: string, namespace = 'mx'): EventTopic => ({ namespace, topic })
const toState = (topic: string): TopicState => ({ ...toTopic(topic), first: 1, last: 1, bytes: 1 })
const LIMITS = { maxTopics: 2, maxAllTopics: 100 }

t.test('looks up an existing topic once and limits new topics of a namespace', async (t) => {
  let reads = 0
  const listTopics = () => {
    reads++
    return [toState('a')]
  }
  const cache = createTopicCache({ listTopics }, LIMITS)
  t.equal(cache.has(toTopic('a')), false)
  t.equal(await cache.admit(toTopic('a')), false)
  t.equal(await cache.admit(toTopic('b')), true)
  t.equal(cache.has(toTopic('b')), true)
  t.equal(await cache.admit(toTopic('b')), false)
  await t.rejects(cache.admit(toTopic('c')), {
    code: 429,
    message: 'limit of 2 topics of namespace mx reached',
  })
  t.equal(await cache.admit(toTopic('c', 'other')), true, 'other namespaces have their own limit')
  t.equal(reads, 1)
})

t.test('limits topics of all namespaces combined', async (t) => {
  const cache = createTopicCache({ listTopics: () => [] }, { maxTopics: 2, maxAllTopics: 2 })
  await cache.admit(toTopic('a'))
  await cache.admit(toTopic('a', 'b'))
  await t.rejects(cache.admit(toTopic('a', 'c')), {
    code: 429,
    message: 'limit of 2 topics in all namespaces reached',
  })
})

t.test('does not count deleted topics', async (t) => {
  const cache = createTopicCache({ listTopics: () => [toState('a'), toState('b')] }, LIMITS)
  await t.rejects(cache.admit(toTopic('c')), { code: 429 })
  cache.forget(toTopic('a'))
  cache.forget(toTopic('a'))
  t.equal(await cache.admit(toTopic('c')), true)
  await t.rejects(cache.admit(toTopic('d')), { code: 429 })
  const isKnown = (topic: string): boolean => cache.has(toTopic(topic))
  cache.learn([toState('d')])
  t.same(['b', 'c', 'd'].map(isKnown), [false, true, true], 'c may be being created')
  cache.learn([toState('d')])
  t.same(['c', 'd'].map(isKnown), [false, true])
  t.equal(await cache.admit(toTopic('e')), true)
})

t.test('repeats a failed lookup', async (t) => {
  let isUnavailable = true
  const listTopics = async () => {
    if (isUnavailable) throw new Error('unavailable')
    return []
  }
  const cache = createTopicCache({ listTopics }, LIMITS)
  await t.rejects(cache.admit(toTopic('a')), { message: 'unavailable' })
  isUnavailable = false
  t.equal(await cache.admit(toTopic('a')), true)
})

t.test('limits the event bytes of a namespace by its quota', async (t) => {
  const state = (namespace: string, bytes: number) => ({
    ...{ namespace, topic: 'orders', first: 1, last: 1, bytes },
  })
  const quota = createQuota('quota_events', { limit: 1000, namespaces: {} })
  const adapter = { listTopics: () => [state('acme', 900), state('mx', 900)] }
  const cache = createTopicCache(adapter, { maxTopics: 10, maxAllTopics: 10, quota })
  const acme = { namespace: 'acme', topic: 'orders' }
  t.notOk(await cache.admit(acme))
  cache.addBytes(acme, 100)
  t.throws(() => cache.addBytes(acme, 1), {
    ...{ id: 'events', code: 507 },
    message: /^quota_events reached in namespace acme: 1000 bytes of 1000b? in use; /,
  })
  cache.addBytes({ ...acme, namespace: 'mx' }, 5000)
  cache.addBytes({ ...acme, namespace: 'other' }, 1000)
  cache.learn([state('acme', 400)])
  cache.addBytes(acme, 600)
  cache.learnBytes('acme', [])
  cache.addBytes(acme, 1000)
})
