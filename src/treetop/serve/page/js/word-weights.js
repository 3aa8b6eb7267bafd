// The server gives every place of a word its share; a word weighs what its places weigh together.

export function wordWeights(words) {
  const weights = new Map();
  for (const { word, weight } of words) weights.set(same(word), (weights.get(same(word)) ?? 0) + weight);
  return weights;
}

export const same = (word) => word.toLowerCase();
