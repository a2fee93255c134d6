import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { skipUnless } from '../fixtures/servers.ts'

const UNITS = ['mx-api', 'mx-server'] as const
/** Exposure level of systemd: 0 is best, 10 worst; an unrestricted service has about 9.6. */
const EXPOSURE_MAX = 3

for (const name of UNITS) {
  const unit = readFileSync(join(ROOT, 'deploy/systemd', `${name}.service`), 'utf8')

  t.test(`${name}.service passes systemd-analyze verify and security`, async (t) => {
    if (skipUnless(t, 'systemd-analyze') === undefined) return
    const file = join(t.testdir(), `${name}.service`)
    // An existing program, because mx is not installed on this machine.
    writeFileSync(file, unit.replace('/usr/local/bin/mx', process.execPath))
    const verified = analyze('verify', '--man=no', file)
    t.equal(verified.output, '')
    t.equal(verified.status, 0)
    const { status, output } = analyze(
      'security',
      '--offline=true',
      '--no-pager',
      `--threshold=${EXPOSURE_MAX * 10}`,
      file,
    )
    t.equal(status, 0, output.split('\n').at(-2) ?? '')
  })

  t.test(
    `${name}.service: reload sends SIGHUP, and only the main process receives the stop signal`,
    async (t) => {
      t.match(unit, /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m)
      t.match(unit, /^KillMode=mixed$/m)
      t.match(unit, /^DynamicUser=yes$/m)
      t.match(unit, new RegExp(`^ExecStart=/usr/local/bin/mx ${name.slice(3)}$`, 'm'))
    },
  )
}

function analyze(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  return { status, output: stdout + stderr }
}
