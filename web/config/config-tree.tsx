import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { Tree, type TreeNode } from '../components/tree/tree.tsx'
import { type ConfigNode, isSecret, joinPath } from './tree.ts'

export interface ConfigTreeProps {
  readonly root: ConfigNode
  /** Selected path. */
  readonly selected: string
  readonly onSelect: (path: string) => void
}

/** Length of a value's preview in characters. */
const MAX_PREVIEW = 40

/** Tree of a namespace's configuration, with secrets hidden. */
export function ConfigTree({ root, selected, onSelect }: ConfigTreeProps): JSX.Element {
  const nodes = useMemo(() => toTreeNodes(root, ''), [root])
  return <Tree label="Config" nodes={nodes} selected={selected} onSelect={onSelect} open={2} />
}

function toTreeNodes(node: ConfigNode, path: string): readonly TreeNode[] {
  if (node.kind === 'value') return []
  return [...node.children].map(([name, child]) => {
    const id = joinPath(path, name)
    if (child.kind === 'map') return { id, label: name, children: toTreeNodes(child, id) }
    return { id, label: name, detail: isSecret(child) ? <Badge>secret</Badge> : cut(child.text) }
  })
}

function cut(text: string): string {
  return text.length > MAX_PREVIEW ? `${text.slice(0, MAX_PREVIEW)}…` : text
}
