import t from 'tap'
import type { Node } from '../../../core/contracts/registry.ts'
import { canTryAnother } from '../../../core/upstream/tried-nodes.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import { createPools, makeNode, makeService } from '../../fixtures/services.ts'

t.test('a request goes to every node once, and not through all of many', async (t) => {
  const upstream = new Upstream('greeter', { createPool: createPools().createPool })
  t.teardown(() => upstream.close())
  const entries: Node[] = Array.from({ length: 8 }, (_, i) => makeNode(`127.0.0.1:${9001 + i}`))
  const show = (...nodes: Node[]) => upstream.update([makeService('greeter', nodes)])
  show(entries[0]!)
  const [first] = upstream.nodes
  t.equal(canTryAnother(upstream, [first!]), false)
  show(entries[0]!, entries[1]!)
  t.equal(canTryAnother(upstream, [first!]), true)
  t.equal(canTryAnother(upstream, [...upstream.nodes]), false)
  show(entries[1]!)
  t.equal(canTryAnother(upstream, [first!]), true, 'the one that was tried has left')
  show(...entries)
  t.equal(canTryAnother(upstream, upstream.nodes.slice(0, 4)), true)
  t.equal(canTryAnother(upstream, upstream.nodes.slice(0, 5)), false)
})
