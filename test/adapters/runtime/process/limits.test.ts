import t from 'tap'
import { findConfinement, toDataBytes } from '../../../../adapters/runtime/process/limits.ts'

function open(path: string): { confine: ReturnType<typeof findConfinement>; warnings: string[] } {
  const own = process.env['PATH']
  process.env['PATH'] = path
  const warnings: string[] = []
  const log = { info() {}, warn: (_: object, text: string) => warnings.push(text) }
  const confine = findConfinement(log)
  process.env['PATH'] = own
  return { confine, warnings }
}

t.test('programs run through what the machine has to confine them', async (t) => {
  const { confine } = open('/usr/bin:/bin')
  t.strictSame(confine(['/bin/a', 'b'], undefined), [
    ...['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--'],
    ...['/usr/bin/prlimit', '--core=0', '--', '/bin/a', 'b'],
  ])
  t.ok(confine(['/bin/a'], 1024).includes('--data=1024'))
})

t.test('what it has not is told', async (t) => {
  const { confine, warnings } = open('/nowhere')
  t.strictSame(confine(['/bin/a', 'b'], 1), ['/bin/a', 'b'])
  t.match(warnings, [/no program setpriv here: services outlive a server/, /no program prlimit/])
})

t.test('the data of a process is limited unless its group is', async (t) => {
  const memoryBytes = 1024 ** 2
  t.equal(toDataBytes({ memoryBytes }, false), 513 * memoryBytes)
  t.equal(toDataBytes({ memoryBytes }, true), undefined)
  t.equal(toDataBytes({}, false), undefined)
})
