import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { LOADER, toModule } from '../../fixtures/programs.ts'

const LOG = JSON.stringify(toModule(new URL('../../../platform/process/log.ts', import.meta.url)))

t.test('logs an error that cannot be serialized, such as a frozen one', async (t) => {
  const program = `
    import { createLog } from ${LOG}
    const log = createLog('info')
    log.error({ err: Object.freeze(new Error('boo')) }, 'a plugin failed')
    log.info({}, 'alive')`
  const args = [...LOADER, '--input-type=module', '-e', program]
  const { stderr } = await promisify(execFile)(process.execPath, args)
  const lines = stderr.trimEnd().split('\n')
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      { level: 50, err: { message: 'Error: boo' }, msg: 'a plugin failed' },
      { level: 30, msg: 'alive' },
    ],
  )
})
