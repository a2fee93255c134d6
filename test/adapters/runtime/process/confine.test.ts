import t from 'tap'
import { findConfinement } from '../../../../adapters/runtime/process/confine.ts'

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
  t.strictSame(confine(['/bin/a', 'b'], {}, undefined), [
    ...['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--'],
    ...['/usr/bin/prlimit', '--core=0', '--', '/bin/a', 'b'],
  ])
  t.ok(
    confine(['/bin/a'], { memoryBytes: 1024 ** 2 }, undefined).includes(
      `--data=${513 * 1024 ** 2}`,
    ),
  )
})

t.test('what it has not is told', async (t) => {
  const { confine, warnings } = open('/nowhere')
  t.strictSame(confine(['/bin/a', 'b'], { memoryBytes: 1 }, undefined), ['/bin/a', 'b'])
  t.match(warnings, [/no program setpriv here: services outlive a server/, /no program prlimit/])
})
