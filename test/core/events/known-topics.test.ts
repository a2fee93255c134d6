import t from 'tap'
import type { EventTopic, TopicState } from '../../../core/contracts/events.ts'
import { createKnownTopics } from '../../../core/events/known-topics.ts'

const toTopic = (topic: string): EventTopic => ({ namespace: 'mx', topic })
const toState = (topic: string): TopicState => ({ ...toTopic(topic), first: 1, last: 1, bytes: 1 })

t.test(
  'topics that are there are looked up once, and only so many more are admitted',
  async (t) => {
    let looked = 0
    const listTopics = () => {
      looked++
      return [toState('a'), toState('a.dead')]
    }
    const known = createKnownTopics({ listTopics }, 2)
    t.equal(known.has(toTopic('a')), false)
    t.equal(await known.admit(toTopic('a')), false)
    t.equal(await known.admit(toTopic('b')), true)
    t.equal(known.has(toTopic('b')), true)
    t.equal(await known.admit(toTopic('b')), false)
    await t.rejects(known.admit(toTopic('c')), { code: 429, message: 'there are 2 topics already' })
    await t.rejects(known.admit({ namespace: 'other', topic: 'a' }), { code: 429 })
    known.learn([toState('c')])
    t.equal(known.has(toTopic('c')), true, 'others made it')
    t.equal(looked, 1)
  },
)

t.test('what could not be looked up is looked up again', async (t) => {
  let isAway = true
  const listTopics = async () => {
    if (isAway) throw new Error('away')
    return []
  }
  const known = createKnownTopics({ listTopics }, 1)
  await t.rejects(known.admit(toTopic('a')), { message: 'away' })
  isAway = false
  t.equal(await known.admit(toTopic('a')), true)
})
