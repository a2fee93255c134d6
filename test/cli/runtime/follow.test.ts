import t from 'tap'
import { untilRunning } from '../../../cli/runtime/follow.ts'
import { openSession } from '../../../cli/session/session.ts'
import type { Steps } from '../../../cli/ui/progress.ts'
import { openCli } from '../../fixtures/cli.ts'

const { runtime } = await openCli(t)
const STARTING = { name: 'shop', version: 'latest', source: '', status: 3, metadata: {} }

/** Steps that record notes. */
function openNotes(): Steps & { readonly firstNote: Promise<string>; readonly notes: string[] } {
  const notes: string[] = []
  let notify = (_: string): void => {}
  const firstNote = new Promise<string>((resolve) => {
    notify = resolve
  })
  const note = (text: string): void => {
    notes.push(text)
    notify(text)
  }
  return { isVisible: false, show() {}, note, end() {}, firstNote, notes }
}

t.test('a start that takes too long prints the hint', async (t) => {
  const session = openSession({})
  runtime.objects.set('shop@latest', STARTING)
  runtime.states = [{ status: 3 }]
  runtime.hangs = true
  const steps = openNotes()
  const hint = { text: 'it may be plain HTTP', afterMs: 1 }
  const pending = untilRunning(session, { name: 'shop', version: 'latest' }, steps, hint)
  pending.catch(() => {})
  t.equal(await steps.firstNote, 'it may be plain HTTP')
  session.close()
  await t.rejects(pending)
  t.equal(steps.notes.length, 1)
})

t.test('a failing start prints the failure and no hint', async (t) => {
  const session = openSession({})
  t.teardown(session.close)
  runtime.objects.set('shop@latest', STARTING)
  const failing = { status: 3, metadata: { error: 'exited with code 3', retries: '1' } }
  runtime.states = [failing, { status: 7, metadata: { error: 'exited with code 3' } }]
  runtime.hangs = false
  const steps = openNotes()
  const hint = { text: 'it may be plain HTTP', afterMs: 3_600_000 }
  const pending = untilRunning(session, { name: 'shop', version: 'latest' }, steps, hint)
  await t.rejects(pending, {
    message:
      "shop failed: exited with code 3. See 'mx logs shop'. It stays in 'mx status' until 'mx kill shop'",
  })
  t.same(steps.notes, ['shop exited with code 3; restarting'])
})

t.test('a failure caused by a missing PORT prints the hint immediately', async (t) => {
  const session = openSession({})
  t.teardown(session.close)
  runtime.objects.set('shop@latest', STARTING)
  const error = "exited with code 1; last line: KeyError: 'PORT'"
  runtime.states = [
    { status: 3, metadata: { error, retries: '1' } },
    { status: 4, metadata: {} },
  ]
  runtime.hangs = false
  const steps = openNotes()
  const hint = { text: 'it may be plain HTTP', afterMs: 3_600_000 }
  await untilRunning(session, { name: 'shop', version: 'latest' }, steps, hint)
  t.same(steps.notes, [`shop ${error}; restarting`, 'it may be plain HTTP'])
})

t.test('a successful start prints nothing', async (t) => {
  const session = openSession({})
  t.teardown(session.close)
  runtime.objects.set('shop@latest', STARTING)
  runtime.states = [{ status: 3 }, { status: 4 }]
  runtime.hangs = false
  const steps = openNotes()
  const hint = { text: 'it may be plain HTTP', afterMs: 3_600_000 }
  await untilRunning(session, { name: 'shop', version: 'latest' }, steps, hint)
  t.same(steps.notes, [])
})
