/** Completes field names and named values of a JSON text from its schema. */
import type { CompletionContext, CompletionResult, Completion as Option } from '@codemirror/autocomplete';
import { syntaxTree } from '@codemirror/language';
import type { Text } from '@codemirror/state';
import type { SyntaxNode } from '@lezer/common';
import {
  type Completion,
  nameCompletions,
  type SchemaNode,
  schemaAt,
  valueCompletions,
} from '../../model/scenario-form.ts';

/** The field name of a `Property`. */
function nameOf(property: SyntaxNode, doc: Text): string {
  const name = property.getChild('PropertyName');
  if (name === null) return '';
  try {
    return String(JSON.parse(doc.sliceString(name.from, name.to)));
  } catch {
    return '';
  }
}

/** Field names and indexes from the top to the value in which a node is. */
function pathTo(node: SyntaxNode, doc: Text): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent) {
    if (at.name === 'Property') path.unshift(nameOf(at, doc));
    else if (at.parent?.name === 'Array') path.unshift(0);
  }
  return path;
}

/** The next node outside that is one of these. */
function enclosing(node: SyntaxNode, names: readonly string[]): SyntaxNode | null {
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent) if (names.includes(at.name)) return at;
  return null;
}

const optionOf = ({ label, detail, isRequired }: Completion, type: string, apply: string): Option => ({
  label,
  apply,
  type,
  ...(detail === '' ? {} : { info: detail }),
  ...(isRequired ? { detail: 'required' } : {}),
});

export const jsonCompletion =
  (schemaNow: () => SchemaNode) =>
  ({ state, pos, explicit }: CompletionContext): CompletionResult | null => {
    const { doc } = state;
    const node = syntaxTree(state).resolveInner(pos, -1);
    const isToken = node.name === 'PropertyName' || node.name === 'String';
    const word = /[\w"-]*$/.exec(doc.lineAt(pos).text.slice(0, pos - doc.lineAt(pos).from))![0];
    if (!isToken && word === '' && !explicit) return null;
    const from = isToken ? node.from : pos - word.length;
    const place = enclosing(node, ['Property', 'Object', 'Array']);
    if (place === null) return null;
    const isName = node.name === 'PropertyName' || place.name === 'Object';
    if (isName) {
      const object = enclosing(node, ['Object']);
      if (object === null) return null;
      const present = object
        .getChildren('Property')
        .flatMap((each) => (each.from === from ? [] : [nameOf(each, doc)]));
      const to = isToken ? node.to : pos;
      const hasColon = /^\s*:/.test(doc.sliceString(to, to + 20));
      const names = nameCompletions(schemaAt(schemaNow(), pathTo(object, doc)), present);
      return {
        from,
        to,
        options: names.map((name) => optionOf(name, 'property', hasColon ? name.label : `${name.label}: `)),
        filter: true,
      };
    }
    const path = place.name === 'Array' ? [...pathTo(place, doc), 0] : pathTo(place, doc);
    const values = valueCompletions(schemaAt(schemaNow(), path));
    if (values.length === 0) return null;
    return {
      from,
      to: isToken ? node.to : pos,
      options: values.map((value) => optionOf(value, 'enum', value.label)),
    };
  };
