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
  const known = createTopicCache({ listTopics }, LIMITS)
  t.equal(known.has(toTopic('a')), false)
  t.equal(await known.admit(toTopic('a')), false)
  t.equal(await known.admit(toTopic('b')), true)
  t.equal(known.has(toTopic('b')), true)
  t.equal(await known.admit(toTopic('b')), false)
  await t.rejects(known.admit(toTopic('c')), {
    code: 429,
    message: 'limit of 2 topics of namespace mx reached',
  })
  t.equal(await known.admit(toTopic('c', 'other')), true, 'other namespaces have their own limit')
  t.equal(reads, 1)
})

t.test('limits topics of all namespaces combined', async (t) => {
  const known = createTopicCache({ listTopics: () => [] }, { maxTopics: 2, maxAllTopics: 2 })
  await known.admit(toTopic('a'))
  await known.admit(toTopic('a', 'b'))
  await t.rejects(known.admit(toTopic('a', 'c')), {
    code: 429,
    message: 'limit of 2 topics in all namespaces reached',
  })
})

t.test('does not count deleted topics', async (t) => {
  const known = createTopicCache({ listTopics: () => [toState('a'), toState('b')] }, LIMITS)
  await t.rejects(known.admit(toTopic('c')), { code: 429 })
  known.forget(toTopic('a'))
  known.forget(toTopic('a'))
  t.equal(await known.admit(toTopic('c')), true)
  await t.rejects(known.admit(toTopic('d')), { code: 429 })
  const isKnown = (topic: string): boolean => known.has(toTopic(topic))
  known.learn([toState('d')])
  t.same(['b', 'c', 'd'].map(isKnown), [false, true, true], 'c may be being created')
  known.learn([toState('d')])
  t.same(['c', 'd'].map(isKnown), [false, true])
  t.equal(await known.admit(toTopic('e')), true)
})

t.test('repeats a failed lookup', async (t) => {
  let isUnavailable = true
  const listTopics = async () => {
    if (isUnavailable) throw new Error('unavailable')
    return []
  }
  const known = createTopicCache({ listTopics }, LIMITS)
  await t.rejects(known.admit(toTopic('a')), { message: 'unavailable' })
  isUnavailable = false
  t.equal(await known.admit(toTopic('a')), true)
})

t.test('limits the event bytes of a namespace by its quota', async (t) => {
  const state = (namespace: string, bytes: number) => ({
    ...{ namespace, topic: 'orders', first: 1, last: 1, bytes },
  })
  const quota = createQuota('quota_events', { limit: 1000, namespaces: {} })
  const adapter = { listTopics: () => [state('acme', 900), state('mx', 900)] }
  const known = createTopicCache(adapter, { maxTopics: 10, maxAllTopics: 10, quota })
  const acme = { namespace: 'acme', topic: 'orders' }
  t.notOk(await known.admit(acme))
  known.addBytes(acme, 100)
  t.throws(() => known.addBytes(acme, 1), {
    ...{ id: 'events', code: 507 },
    message: /^quota_events reached in namespace acme: 1000 bytes of 1000b? in use; /,
  })
  known.addBytes({ ...acme, namespace: 'mx' }, 5000)
  known.addBytes({ ...acme, namespace: 'other' }, 1000)
  known.learn([state('acme', 400)])
  known.addBytes(acme, 600)
  known.learnBytes('acme', [])
  known.addBytes(acme, 1000)
})
