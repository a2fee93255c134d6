import t from 'tap'
import type { Sandbox } from '../../../../lib/process/sandbox/sandbox.ts'
import { selectSandbox } from '../../../../lib/process/sandbox/select-sandbox.ts'

const reason = 'the server runs as user 0 without CAP_SYS_ADMIN'

t.test(
  'rejects programs of other namespaces on a privileged server without a sandbox',
  async (t) => {
    const isolation = { sandbox: undefined, reason, isPrivileged: true }
    t.throws(() => selectSandbox(isolation, 'tb'), {
      message: /namespace tb cannot run: .*without CAP_SYS_ADMIN.* Set runtime_uids/,
    })
    t.equal(selectSandbox(isolation, 'mx'), undefined)
  },
)

t.test('returns the sandbox, or none on an unprivileged server', async (t) => {
  t.equal(selectSandbox({ sandbox: undefined, reason, isPrivileged: false }, 'tb'), undefined)
  const sandbox = {} as Sandbox
  t.equal(selectSandbox({ sandbox }, 'tb'), sandbox)
})
