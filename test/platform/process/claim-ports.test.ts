import { mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { claimPorts } from '../../../platform/process/claim-ports.ts'
import { lockFolder } from '../../../platform/server/files/folder-lock.ts'
import { listen } from '../../fixtures/listen.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const FREE = { host: '127.0.0.1', port: 0 }

t.test('accepts free ports and port 0', async () => {
  await claimPorts(
    { address: FREE, http2Address: undefined, proxyAddress: FREE, webAddress: FREE },
    '/nowhere',
  )
})

t.test(
  'reports the other server that uses the data folder, without changing the folder',
  async (t) => {
    const folder = join(makeTempFolder(t, 'ports'), 'state')
    const address = { host: '127.0.0.1', port: await listen(t, createServer()) }
    const claim = () =>
      claimPorts(
        { address: FREE, http2Address: undefined, proxyAddress: address, webAddress: FREE },
        folder,
      )
    const inUse = `address 127.0.0.1:${address.port} is in use`
    const byOther = `${inUse} by another program; choose another with --proxy_address or MX_PROXY_ADDRESS`
    await t.rejects(claim(), { message: byOther }, 'no folder')
    mkdirSync(folder)
    await t.rejects(claim(), { message: byOther }, 'no server uses the folder')
    const lock = await lockFolder(folder)
    const names = readdirSync(folder)
    await t.rejects(claim(), {
      message: `${inUse}, and another mx server (process ${process.pid}) uses the data folder ${folder}: stop that server, or choose other addresses and another --data_dir`,
    })
    t.same(readdirSync(folder), names)
    await lock.release()
    await t.rejects(claim(), { message: byOther }, 'no server uses the folder anymore')
  },
)
