import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { useEsbuild } from '../../../lib/build/esbuild.ts'

/** Children of this process that are esbuild's. */
function countServices(): number {
  const children = readdirSync('/proc').filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      return stat.includes('(esbuild)') && stat.split(' ')[3] === String(process.pid)
    } catch {
      return false
    }
  })
  return children.length
}

/** The test runner may also use esbuild. */
const before = countServices()

t.test('concurrent users share one esbuild process, which exits after the last one', async (t) => {
  const use = () =>
    useEsbuild(async ({ transform }) => {
      const { code } = await transform('let a: number = 1', { loader: 'ts' })
      await pause(20)
      return code
    })
  const first = use()
  const failing = useEsbuild(async () => {
    throw new Error('custom')
  })
  await t.rejects(failing, { message: 'custom' })
  t.equal(await first, 'let a = 1;\n', 'not stopped by the failed user')
  t.match(await use(), /let a/)
  while (countServices() > before) await pause(10)
})
