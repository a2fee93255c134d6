import t from 'tap'
import { findConfinement, toDataBytes } from '../../../../adapters/runtime/process/limits.ts'

function open(path: string): {
  wrapCommand: ReturnType<typeof findConfinement>
  warnings: string[]
} {
  const searchPath = process.env['PATH']
  process.env['PATH'] = path
  const warnings: string[] = []
  const log = { info() {}, warn: (_: object, text: string) => warnings.push(text) }
  const wrapCommand = findConfinement(log)
  process.env['PATH'] = searchPath
  return { wrapCommand, warnings }
}

t.test('wraps commands with the available confinement', async (t) => {
  const { wrapCommand } = open('/usr/bin:/bin')
  t.strictSame(wrapCommand(['/bin/a', 'b'], undefined), [
    ...['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--'],
    ...['/usr/bin/prlimit', '--core=0', '--', '/bin/a', 'b'],
  ])
  t.ok(wrapCommand(['/bin/a'], 1024).includes('--data=1024'))
})

t.test('logs missing programs', async (t) => {
  const { wrapCommand, warnings } = open('/nowhere')
  t.strictSame(wrapCommand(['/bin/a', 'b'], 1), ['/bin/a', 'b'])
  t.match(warnings, [
    /program setpriv not found: services outlive a killed server/,
    /program prlimit not found/,
  ])
})

t.test('limits the data of a process unless its group is limited', async (t) => {
  const memoryBytes = 1024 ** 2
  t.equal(toDataBytes({ memoryBytes }, false), 513 * memoryBytes)
  t.equal(toDataBytes({ memoryBytes }, true), undefined)
  t.equal(toDataBytes({}, false), undefined)
})
