import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { watchFiles } from '../../../platform/process/watch-files.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'

// A timer keeps the process alive, because a watch does not.
keepAlive(t)

/** Watches files; `next` resolves at the next change, `changes` counts them. */
function watch(t: Test, files: readonly string[]) {
  const state = { changes: 0, next: () => new Promise<void>((resolve) => pending.push(resolve)) }
  const pending: (() => void)[] = []
  const watched = watchFiles(
    () => {
      state.changes++
      for (const resolve of pending.splice(0)) resolve()
    },
    (folder, error) => t.fail(`${folder}: ${error.message}`),
  )
  t.teardown(watched.close)
  watched.set(files)
  return {
    ...state,
    set: watched.set,
    get changes() {
      return state.changes
    },
  }
}

t.test('detects a file that is written, replaced, removed and restored', async (t) => {
  const dir = t.testdir({ 'mx.yaml': 'a' })
  const file = join(dir, 'mx.yaml')
  const watched = watch(t, [file])
  const steps = [
    () => writeFileSync(file, 'b'),
    () => {
      writeFileSync(join(dir, 'new'), 'c')
      renameSync(join(dir, 'new'), file)
    },
    () => rmSync(file),
    () => writeFileSync(file, 'd'),
  ]
  for (const step of steps) {
    const changed = watched.next()
    step()
    await changed
  }
  t.equal(watched.changes, steps.length)
})

t.test(
  'detects a symbolic link that is switched to another folder, as in Kubernetes',
  async (t) => {
    const dir = t.testdir({ one: { 'mx.yaml': '1' }, two: { 'mx.yaml': '2' } })
    symlinkSync('one', join(dir, '..data'))
    symlinkSync(join('..data', 'mx.yaml'), join(dir, 'mx.yaml'))
    const watched = watch(t, [join(dir, 'mx.yaml')])
    const changed = watched.next()
    symlinkSync('two', join(dir, 'next'))
    renameSync(join(dir, 'next'), join(dir, '..data'))
    await changed
    t.equal(watched.changes, 1)
  },
)

t.test('ignores other files of the folder and unchanged contents', async (t) => {
  const dir = t.testdir({ 'mx.yaml': 'a' })
  const file = join(dir, 'mx.yaml')
  const watched = watch(t, [file])
  writeFileSync(join(dir, 'other'), 'x')
  writeFileSync(file, 'a')
  const changed = watched.next()
  // Only the change below may be counted.
  writeFileSync(file, 'b')
  await changed
  t.equal(watched.changes, 1)
})

t.test('detects a change while another file of the folder is written continuously', async (t) => {
  // Registered before the folder exists, because tap removes the folder before later teardowns.
  t.teardown(() => clearInterval(writing))
  const dir = t.testdir({ 'mx.yaml': 'a' })
  const watched = watch(t, [join(dir, 'mx.yaml')])
  const writing = setInterval(() => appendFileSync(join(dir, 'log'), 'x'), 5)
  const changed = watched.next()
  writeFileSync(join(dir, 'mx.yaml'), 'b')
  await changed
  t.equal(watched.changes, 1)
})

t.test('replaces the list of watched files', async (t) => {
  const dir = t.testdir({ 'a.yaml': 'a' })
  const folder = join(dir, 'more')
  mkdirSync(folder)
  const watched = watch(t, [join(dir, 'a.yaml')])
  watched.set([join(folder, 'b.yaml')])
  writeFileSync(join(dir, 'a.yaml'), 'forgotten')
  const changed = watched.next()
  writeFileSync(join(folder, 'b.yaml'), 'b')
  await changed
  t.equal(watched.changes, 1)
})

t.test('reports a folder that cannot be watched', async (t) => {
  const events: string[] = []
  const watched = watchFiles(
    () => {},
    (folder) => events.push(folder),
  )
  t.teardown(watched.close)
  const folder = join(t.testdir(), 'missing')
  watched.set([join(folder, 'mx.yaml')])
  t.same(events, [folder])
})
