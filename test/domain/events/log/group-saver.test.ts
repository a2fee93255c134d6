import t from 'tap'
import { createGroupSaver } from '../../../../domain/events/log/group-saver.ts'
import type { GroupSave } from '../../../../domain/events/log/log.ts'

const TOPIC = { namespace: 'mx', topic: 'a' }

/** Records saves; the test completes each commit. */
function open() {
  const commits: { saves: readonly GroupSave[]; done: (error?: Error) => void }[] = []
  const saver = createGroupSaver({
    saveGroups: (saves) =>
      new Promise((resolve, reject) => {
        commits.push({ saves, done: (error) => (error ? reject(error) : resolve()) })
      }),
  })
  const next = async () => {
    while (commits.length === 0) await new Promise(setImmediate)
    return commits.shift()!
  }
  return { saver, next }
}

const makeGroup = (text: { value: string | undefined }) => ({
  format: () => (text.value === undefined ? undefined : Buffer.from(text.value)),
})

t.test('saves the latest state of a group once per tick, together with other groups', async (t) => {
  const { saver, next } = open()
  const text = { value: 'one' }
  const group = makeGroup(text)
  const saved = [saver.save(TOPIC, 'a', group), saver.save(TOPIC, 'a', group)]
  const other = saver.save(TOPIC, 'b', makeGroup({ value: 'other' }))
  text.value = 'two'
  const { saves, done } = await next()
  t.strictSame(
    saves.map(({ name, state }) => [name, Buffer.from(state!).toString()]),
    [
      ['a', 'two'],
      ['b', 'other'],
    ],
  )
  const later = saver.save(TOPIC, 'a', group)
  done()
  await Promise.all([...saved, other])
  const repeated = await next()
  t.equal(repeated.saves.length, 1, 'a change during a commit is saved again')
  repeated.done()
  await later
  await saver.drained()
})

t.test('does not save a deleted group', async (t) => {
  const { saver, next } = open()
  await saver.save(TOPIC, 'a', makeGroup({ value: undefined }))
  const saved = saver.save(TOPIC, 'b', makeGroup({ value: 'b' }))
  const { saves, done } = await next()
  t.equal(saves.length, 1)
  done(new Error('full'))
  await t.rejects(saved, { message: 'full' })
})
