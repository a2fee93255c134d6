import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../adapters/registry/memory.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { openApi } from '../fixtures/api.ts'
import { openPlatformRegistry } from '../fixtures/platform-registry.ts'
import { openRawBackend, tick } from '../fixtures/raw-backend.ts'
import { makeService } from '../fixtures/services.ts'

/** A backend that returns its address. */
async function openBackend(t: Test) {
  const backend = await openRawBackend(t, { onRequest: (connection) => connection.reply(address) })
  const address = `127.0.0.1:${backend.port}`
  return { address, close: () => backend.close() }
}

/** A gateway in front of four nodes of a service in a registry that can be restarted. */
async function open(t: Test) {
  const nodes = await Promise.all(Array.from({ length: 4 }, () => openBackend(t)))
  let remote = await openPlatformRegistry(t)
  const { address } = remote
  const register = (registry: Registry, ...addresses: string[]): unknown =>
    registry.register!(makeService('greeter', addresses))
  const addresses = nodes.map((node) => node.address)
  await register(remote.registry, ...addresses)
  const { port } = await openApi(t, {
    MX_REGISTRY: `mx://${address}`,
    MX_HANDLER: 'proxy',
    MX_NAMESPACE: ' ',
    MX_LOG_LEVEL: 'silent',
    MX_ACCESS_LOG: 'off',
  })
  const sendRequest = async (): Promise<string> => {
    const reply = await fetch(`http://127.0.0.1:${port}/greeter`)
    return `${reply.status} ${await reply.text()}`
  }
  /** Responses to some requests. */
  const respondingNodes = async (requests = 20): Promise<string[]> => {
    const responses = new Set<string>()
    for (let i = 0; i < requests; i++) responses.add(await sendRequest())
    return [...responses].sort()
  }
  return {
    nodes,
    respondingNodes,
    registry: () => remote.registry,
    toResponses: (nodes: readonly { readonly address: string }[]): string[] =>
      nodes.map((node) => `200 ${node.address}`).sort(),
    /** Services after a restart. */
    async restart(...retained: string[]): Promise<void> {
      await remote.close()
      t.same(
        await respondingNodes(),
        addresses.map((address) => `200 ${address}`).sort(),
        'the registry is not needed',
      )
      const registry = createMemoryRegistry()
      if (retained.length > 0) await register(registry, ...retained)
      remote = await openPlatformRegistry(t, { address, createRegistry: () => registry })
    },
    /** Waits until exactly these nodes respond. */
    async waitForNodes(expected: readonly string[]): Promise<void> {
      while (`${await respondingNodes()}` !== `${expected}`) await tick()
    },
  }
}

t.test(
  'immediately removes nodes that leave after a registry returned with its data',
  async (t) => {
    const { nodes, respondingNodes, registry, restart, toResponses, waitForNodes } = await open(t)
    await waitForNodes(toResponses(nodes))
    await restart(...nodes.map(({ address }) => address))
    const late = await openBackend(t)
    await registry().register!(makeService('greeter', [late.address]))
    await waitForNodes(toResponses([...nodes, late]))
    const [runningNode, ...stopped] = nodes
    await registry().deregister!(
      makeService(
        'greeter',
        stopped.map(({ address }) => address),
      ),
    )
    const rest = toResponses([runningNode!, late])
    await waitForNodes(rest)
    for (const node of stopped) await node.close()
    t.same(await respondingNodes(100), rest)
  },
)

t.test('removes only unreachable nodes after a registry returned empty', async (t) => {
  const { nodes, respondingNodes, registry, restart, toResponses, waitForNodes } = await open(t)
  await waitForNodes(toResponses(nodes))
  await restart()
  const late = await openBackend(t)
  await registry().register!(makeService('greeter', [late.address]))
  await waitForNodes(toResponses([...nodes, late]))
  const [killed, deregistered, ...healthy] = nodes
  await killed!.close()
  t.same(await respondingNodes(100), toResponses([deregistered!, late, ...healthy]))
  const repeated = makeService('greeter', [deregistered!.address])
  await registry().register!(repeated)
  await registry().deregister!(repeated)
  await waitForNodes(toResponses([late, ...healthy]))
})
