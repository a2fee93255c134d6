import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { LOADER, toModule } from '../../fixtures/programs.ts'

const NOBODY = 65_534
const module = toModule(new URL('../../../lib/process/protect-memory.ts', import.meta.url)).href
const PROGRAM = `
  const { protectMemory } = await import(${JSON.stringify(module)})
  console.log(await protectMemory())
  process.stdin.resume()`

const skip = process.getuid?.() !== 0 && 'requires root, for another user'

t.test(
  'other processes of the same user cannot read its environment and memory',
  { skip },
  async (t) => {
    const child = spawn(process.execPath, [...LOADER, '--input-type=module', '--eval', PROGRAM], {
      ...{ uid: NOBODY, gid: NOBODY, stdio: ['pipe', 'pipe', 'inherit'] },
      env: { PATH: process.env['PATH'], SECRET: 'secret' },
    })
    t.teardown(() => child.kill('SIGKILL'))
    t.equal(String((await once(child.stdout!, 'data'))[0]).trim(), 'true')
    for (const name of ['environ', 'mem', 'root/etc/passwd']) {
      const read = () =>
        execFileSync('head', ['-c', '1', `/proc/${child.pid}/${name}`], {
          ...{ uid: NOBODY, gid: NOBODY, stdio: ['ignore', 'pipe', 'pipe'] },
        })
      t.throws(read, { message: /Permission denied/ }, name)
    }
  },
)
